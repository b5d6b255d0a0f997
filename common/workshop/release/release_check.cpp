#include "release/release_check.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/file.hpp"
#include "exercise_tool/shell.hpp"
#include "release/plan.hpp"
#include "release/repository.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;

// Signs in compiled files: debug information, and paths that show a remainder of it.
constexpr std::array<std::string_view, 4> kTraces = {".debug_info", ".debug_line", "SOLUTION(", "/solutions/"};

bool is_text(const std::string& bytes) { return bytes.substr(0, 8192).find('\0') == std::string::npos; }

void check_history(const fs::path& folder, std::vector<std::string>& problems) {
  if (!fs::exists(folder / ".git")) return;
  const FinishedProcess counted =
      exercise::run({"git", "-C", folder.string(), "rev-list", "--count", "--all"}, folder, Collect::kOutput);
  const int expected = expected_commits(folder);
  if (counted.output == concat(expected, "\n")) return;
  problems.push_back(expected == 1 ? "its git history is not one commit"
                                   : concat("its git history is not one commit and ", expected - 1, " corrections"));
}

}  // namespace

std::vector<std::string> check_release(const fs::path& folder, const Answers& answers,
                                       const std::set<std::string>& shown) {
  std::vector<std::string> problems;
  check_history(folder, problems);
  for (auto at = fs::recursive_directory_iterator(folder); at != fs::recursive_directory_iterator(); ++at) {
    const std::string path = at->path().lexically_relative(folder).string();
    if (path == ".git" || path == "build") {
      at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file()) continue;
    if (is_for_instructors(path)) problems.push_back(concat(path, ": not for students"));
    const std::string bytes = read_file(at->path());
    if (!is_text(bytes)) {
      for (const std::string_view trace : kTraces)
        if (bytes.find(trace) != std::string::npos) problems.push_back(concat(path, ": has ", trace, " in it"));
    } else if (!shown.contains(path)) {
      for (const Finding& finding : answers.find_in(bytes))
        problems.push_back(
            concat(path, ":", finding.first_line, ": a part of ", finding.exercise, "'s answer: ", finding.words));
    }
  }
  std::ranges::sort(problems);
  return problems;
}

}  // namespace lockstep::release
