#include "grading/labs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "grading/release.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;

// "02.*" matches every exercise of chapter 02 except a lecturer's own, which a lab must name.
bool is_meant(const std::string& pattern, const Exercise& exercise) {
  if (!pattern.ends_with(".*")) return exercise.id == pattern;
  return exercise.id.starts_with(pattern.substr(0, pattern.size() - 1)) && !exercise.is_lecturers();
}

// @param has_all  False in a repository for students, which may have some of the exercises only.
Lab read_lab(const nlohmann::json& json, const std::vector<Exercise>& catalogue, bool has_all) {
  Lab lab{.number = json.at("lab"),
          .title = json.at("title"),
          .exercises = json.at("exercises").get<std::vector<std::string>>(),
          .automatic_percent = json.at("weights").at("automatic"),
          .counts_percent = json.at("weights").at("counts"),
          .report_percent = json.at("weights").at("report")};
  if (lab.automatic_percent + lab.counts_percent + lab.report_percent != 100)
    throw FormatError(concat("the weights of lab ", lab.number, " do not add up to 100"));
  for (const std::string& pattern : lab.exercises)
    if (has_all && !pattern.ends_with(".*") &&
        std::ranges::none_of(catalogue, [&](const Exercise& one) { return one.id == pattern; }))
      throw FormatError(concat("lab ", lab.number, " names exercise ", pattern, ", and there is none"));
  return lab;
}

}  // namespace

std::vector<Lab> read_labs(const fs::path& root, const std::vector<Exercise>& catalogue) {
  const fs::path path = root / "exercises" / "labs.json";
  try {
    std::vector<Lab> labs;
    const bool has_all = !fs::exists(root / kReleaseFile);
    const nlohmann::json json = parse_json(read_file(path));
    for (const nlohmann::json& lab : json.at("labs")) labs.push_back(read_lab(lab, catalogue, has_all));
    return labs;
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat(path.string(), ": ", error.what()));
  }
}

std::vector<Exercise> chosen_exercises(const fs::path& root, const std::vector<Exercise>& catalogue, int lab,
                                       const std::vector<std::string>& words) {
  std::vector<std::string> patterns;
  for (const std::string& word : words) patterns.push_back(find_exercise(catalogue, word).id);
  if (lab != 0) {
    const std::vector<Lab> labs = read_labs(root, catalogue);
    const auto found = std::ranges::find(labs, lab, &Lab::number);
    if (found == labs.end()) throw UsageError(concat("there is no lab ", lab));
    patterns.insert(patterns.end(), found->exercises.begin(), found->exercises.end());
  }
  if (lab == 0 && words.empty()) return catalogue;
  std::vector<Exercise> chosen;
  std::ranges::copy_if(catalogue, std::back_inserter(chosen), [&](const Exercise& exercise) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) { return is_meant(pattern, exercise); });
  });
  if (chosen.empty())
    throw UsageError(
        concat("lab ", lab, " has no exercises here: docs/labs/ says what is handed in and how it is marked"));
  return chosen;
}

}  // namespace lockstep::grading
