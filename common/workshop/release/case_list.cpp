#include "release/case_list.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "exercise/detective_case.hpp"

namespace lockstep::release {

bool is_case_list(const std::string& path) {
  return path.starts_with("exercises/") && path.ends_with("/cases/cases.json");
}

std::string rewrite_cases(const std::string& text, const Plan& plan) {
  try {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
    nlohmann::ordered_json kept = nlohmann::ordered_json::array();
    for (const auto& each : json.at("cases"))
      if (plan.has(each.at("file").get<std::string>())) kept.push_back(each);
    json["cases"] = kept;
    return json.dump(2) + "\n";
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat("cases.json: ", error.what()));
  }
}

void leave_out_cases(const std::filesystem::path& root, Plan& plan) {
  std::set<std::string> chapters, chapters_with_cases;
  for (const exercise::DetectiveCase& each : exercise::read_cases(root)) {
    chapters.insert(each.chapter);
    if (plan.has(each.file))
      chapters_with_cases.insert(each.chapter);
    else
      plan.files.erase(concat("exercises/", each.chapter, "/cases/spoilers/", each.id, ".patch"));
  }
  for (const std::string& chapter : chapters)
    if (!chapters_with_cases.contains(chapter)) plan.files.erase(concat("exercises/", chapter, "/cases/cases.json"));
}

}  // namespace lockstep::release
