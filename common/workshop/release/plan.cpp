#include "release/plan.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "release/case_list.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;

// Folders end in "/". Students do not get the tools for grading and releasing, or the tests of the whole course.
constexpr std::array<std::string_view, 10> kForInstructors = {"solutions/",
                                                              ".ci/",
                                                              ".github/",
                                                              "AGENTS.md",
                                                              "docs/grading.md",
                                                              "docs/instructor.md",
                                                              "docs/release.md",
                                                              "common/workshop/release/",
                                                              "common/workshop/exercise_tool/skeleton/",
                                                              "common/train/data/make_course_text.sh"};

std::string name_of(const std::string& path) { return fs::path(path).filename().string(); }

bool is_below(const std::string& path, const std::string& folder) { return path.starts_with(folder + "/"); }

bool is_meant(const Exercise& exercise, const std::string& word) {
  return exercise.id == word || exercise.id.starts_with(word + ".");
}

bool is_chosen(const Exercise& exercise, const std::vector<std::string>& chosen) {
  return chosen.empty() ||
         std::ranges::any_of(chosen, [&](const std::string& word) { return is_meant(exercise, word); });
}

// A word that names nothing would leave out what somebody has asked for.
void require_known(const std::vector<Exercise>& catalogue, const std::vector<std::string>& chosen) {
  for (const std::string& word : chosen)
    if (std::ranges::none_of(catalogue, [&](const Exercise& one) { return is_meant(one, word); }))
      throw UsageError(concat("there is no exercise or chapter ", word, ": they are written like 02.1 and 02"));
}

// The strings of a list in an exercise.json.
std::vector<std::string> list_of(const fs::path& root, const Exercise& exercise, const std::string& list) {
  const nlohmann::json json = parse_json(read_file(exercise.in(root / "exercises") / "exercise.json"));
  return json.value(list, std::vector<std::string>());
}

// files_of() for what an exercise.json names in `list`.
std::vector<std::string> existing_files_of(const Giveaway& named, const Exercise& exercise, const std::string& list,
                                           const std::vector<std::string>& tracked) {
  std::vector<std::string> files = files_of(named, tracked);
  if (files.empty())
    throw FormatError(concat(exercise.id, ": ", list, " names ", named.path, ", which does not exist"));
  return files;
}

bool is_header(const std::string& path) { return path.ends_with(".hpp") || path.ends_with(".cuh"); }

// The files that a source includes, as named there.
std::vector<std::string> includes_of(const std::string& text) {
  static const std::regex kInclude("#include \"([^\"]+)\"");
  std::vector<std::string> names;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kInclude); at != std::sregex_iterator(); ++at)
    names.push_back((*at)[1]);
  return names;
}

// Files that include omitted headers are omitted, too: they would not compile.
void leave_out_includers(const fs::path& root, const std::vector<std::string>& tracked, Plan& plan) {
  std::map<std::string, std::vector<std::string>> includes;
  for (const std::string& file : tracked)
    if (is_header(file) || file.ends_with(".cpp") || file.ends_with(".cu"))
      includes[file] = includes_of(read_file(root / file));
  std::vector<std::string> headers;
  for (const auto& [file, ids] : plan.giveaways)
    if (is_header(file)) headers.push_back(file);
  while (!headers.empty()) {
    const std::string header = headers.back();
    headers.pop_back();
    const std::set<std::string> ids = plan.giveaways.at(header);
    for (const auto& [file, names] : includes) {
      const bool is_includer = std::ranges::any_of(names, [&](const std::string& name) {
        return header == (fs::path(file).parent_path() / name).lexically_normal() || header.ends_with("/" + name);
      });
      if (!is_includer || is_for_instructors(file) || file.starts_with("tests/")) continue;
      if (!plan.giveaways.contains(file) && is_header(file)) headers.push_back(file);
      plan.giveaways[file].insert(ids.begin(), ids.end());
    }
  }
}

// From tests/, students need the sources of their programs: subjects, and the files that these include.
bool is_needed_of_tests(const std::string& path, const std::string& text_of_subjects) {
  if (!path.starts_with("tests/exercises/")) return false;
  if (name_of(path) == "subject.cpp" || is_below(path, "tests/exercises/03_nccl")) return true;
  return path.ends_with(".hpp") && text_of_subjects.find(name_of(path)) != std::string::npos;
}

}  // namespace

bool is_for_instructors(const std::string& path) {
  const std::string name = name_of(path);
  const bool is_of_judge = name == "judge.cpp" || name.starts_with("mistakes.") || name.starts_with("alternatives.");
  if (is_of_judge && path.starts_with("tests/")) return true;
  return std::ranges::any_of(kForInstructors, [&](std::string_view each) {
    return each.ends_with('/') ? path.starts_with(each) : path == each;
  });
}

std::vector<Giveaway> giveaways_of(const fs::path& root, const Exercise& exercise) {
  std::vector<Giveaway> giveaways;
  for (const std::string& entry : list_of(root, exercise, "gives_away")) {
    const std::size_t hash = std::min(entry.find('#'), entry.size());
    giveaways.push_back({entry.substr(0, hash), entry.substr(std::min(hash + 1, entry.size()))});
  }
  return giveaways;
}

std::vector<std::string> files_of(const Giveaway& giveaway, const std::vector<std::string>& tracked) {
  std::vector<std::string> files;
  for (const std::string& file : tracked)
    if (file == giveaway.path || (is_below(file, giveaway.path) && !file.ends_with(".hpp"))) files.push_back(file);
  return files;
}

bool Plan::has(const std::string& path) const {
  if (files.contains(path)) return true;
  const auto next = files.lower_bound(path + "/");
  return path == "." || (next != files.end() && next->starts_with(path + "/"));
}

Plan plan_release(const fs::path& root, const std::vector<std::string>& tracked,
                  const std::vector<std::string>& chosen) {
  Plan plan;
  std::set<std::string> others;  // folders of unchosen exercises, in exercises/ and tests/exercises/
  const std::vector<Exercise> catalogue = exercise::read_catalogue(root);
  require_known(catalogue, chosen);
  for (const Exercise& exercise : catalogue) {
    if (!is_chosen(exercise, chosen)) {
      others.insert(concat(exercise.chapter, "/", exercise.name));
      continue;
    }
    for (const Giveaway& giveaway : giveaways_of(root, exercise))
      for (const std::string& file : existing_files_of(giveaway, exercise, "gives_away", tracked))
        plan.giveaways[file].insert(exercise.id);
    for (const std::string& path : list_of(root, exercise, "may_show"))
      for (const std::string& file : existing_files_of({path, ""}, exercise, "may_show", tracked))
        plan.shown.insert(file);
    plan.exercises.push_back(exercise);
  }
  leave_out_includers(root, tracked, plan);
  std::string text_of_subjects;
  for (const std::string& file : tracked)
    if (file.starts_with("tests/exercises/") && name_of(file) == "subject.cpp")
      text_of_subjects += read_file(root / file);
  const auto is_of_others = [&](const std::string& path) {
    return std::ranges::any_of(others, [&](const std::string& folder) {
      return is_below(path, "exercises/" + folder) || is_below(path, "tests/exercises/" + folder);
    });
  };
  for (const std::string& file : tracked) {
    const bool is_of_tests = file.starts_with("tests/");
    if (is_for_instructors(file) || plan.giveaways.contains(file) || is_of_others(file)) continue;
    if (is_of_tests && !is_needed_of_tests(file, text_of_subjects)) continue;
    plan.files.insert(file);
  }
  leave_out_cases(root, plan);
  return plan;
}

}  // namespace lockstep::release
