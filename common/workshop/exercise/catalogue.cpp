#include "exercise/catalogue.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/nearest_match.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

// A misspelled entry would be ignored: "weigths" would leave every check at 1.
void require_known_entries(const nlohmann::json& json) {
  static const std::vector<std::string> kEntries = {
      "id",      "title", "minutes",    "difficulty",       "points",  "files", "depends", "judge_depends",
      "weights", "needs", "gives_away", "template_verdict", "may_show"};
  for (const auto& [name, value] : json.items())
    if (std::ranges::find(kEntries, name) == kEntries.end())
      throw FormatError(concat("it has an entry \"", name, "\", which means nothing", did_you_mean(name, kEntries)));
}

Exercise read_exercise(const fs::path& file) {
  try {
    const nlohmann::json json = parse_json(read_file(file));
    require_known_entries(json);
    Exercise exercise;
    exercise.id = json.at("id");
    exercise.chapter = file.parent_path().parent_path().filename();
    exercise.name = file.parent_path().filename();
    exercise.title = json.at("title");
    exercise.difficulty = json.at("difficulty");
    exercise.minutes = json.at("minutes");
    exercise.points = json.at("points");
    if (!(exercise.points >= 0 && exercise.points <= 1000)) throw FormatError("points are not in 0 to 1000");
    exercise.files = json.at("files").get<std::vector<std::string>>();
    exercise.needs_emulator = json.value("needs", "") == "emulator";
    exercise.weights = json.value("weights", std::map<std::string, double>());
    for (const auto& [name, weight] : exercise.weights)
      if (!(weight >= 0 && weight <= 1000))
        throw FormatError(concat("the weight of \"", name, "\" is not in 0 to 1000"));
    exercise.template_verdict = json.value("template_verdict", "TODO");
    const std::string expected = exercise.chapter.substr(0, 2) + "." + exercise.name.substr(0, exercise.name.find('_'));
    if (exercise.id != expected) throw FormatError(concat("id is \"", exercise.id, "\", its folder says ", expected));
    if (!std::regex_match(exercise.id, std::regex(R"(\d\d\.\d{1,2})")))
      throw FormatError(concat("id is \"", exercise.id, "\", not two digits, a dot and a number"));
    if (exercise.files.empty()) throw FormatError("files is empty");
    return exercise;
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat(file.string(), ": ", error.what()));
  } catch (const FormatError& error) {
    throw FormatError(concat(file.string(), ": ", error.what()));
  }
}

// "02.1" for "2.1".
std::string with_two_digits(const std::string& word) { return word.find('.') == 1 ? "0" + word : word; }

}  // namespace

int Exercise::number() const { return std::stoi(id.substr(3)); }

std::string Exercise::work_name() const { return id + name.substr(name.find('_')); }

std::string Exercise::target_name() const { return id.substr(0, 2) + "_" + id.substr(3); }

bool Exercise::has_kernels() const {
  return std::ranges::any_of(files, [](const std::string& file) { return file.ends_with(".cu"); });
}

std::vector<Exercise> read_catalogue(const fs::path& root) {
  std::vector<Exercise> catalogue;
  if (!fs::exists(root / "exercises")) return catalogue;
  for (const fs::directory_entry& chapter : fs::directory_iterator(root / "exercises")) {
    if (!chapter.is_directory()) continue;
    for (const fs::directory_entry& folder : fs::directory_iterator(chapter.path()))
      if (fs::exists(folder.path() / "exercise.json"))
        catalogue.push_back(read_exercise(folder.path() / "exercise.json"));
  }
  std::ranges::sort(catalogue, {},
                    [](const Exercise& exercise) { return std::pair(exercise.chapter, exercise.number()); });
  return catalogue;
}

const Exercise& find_exercise(const std::vector<Exercise>& catalogue, const std::string& word) {
  const std::string id = with_two_digits(word);
  std::vector<std::string> names;
  for (const Exercise& exercise : catalogue) {
    const std::string plain = exercise.name.substr(exercise.name.find('_') + 1);
    if (id == exercise.id || id == exercise.work_name() || word == plain) return exercise;
    names.push_back(exercise.id);
    names.push_back(plain);
  }
  throw UsageError(
      concat("there is no exercise ", word, did_you_mean(word, names), "  (./lockstep progress lists them all)"));
}

std::vector<std::string> read_hints(const fs::path& root, const Exercise& exercise) {
  const std::regex list_item("(-|[0-9]+\\.) .*");
  std::istringstream in(read_file(exercise.in(root / "exercises") / "hints.md"));
  std::vector<std::string> hints;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) {
      hints.emplace_back();
    } else if (!hints.empty() && !(hints.back().empty() && line.empty())) {
      std::string& hint = hints.back();
      const bool continues =
          !line.empty() && !hint.empty() && !hint.ends_with("\n\n") && !std::regex_match(line, list_item);
      if (continues) hint.back() = ' ';
      hint += line.substr(continues ? line.find_first_not_of(' ') : 0) + "\n";
    }
  }
  for (std::string& hint : hints)
    while (hint.ends_with("\n\n")) hint.pop_back();
  return hints;
}

}  // namespace lockstep::exercise
