#pragma once
/// @file
/// A class of submissions as they come in: right and wrong ones, and some that attack the grader.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::grading {

/// What must come out for one submission.
struct Expected {
  std::string key;           ///< Of the submission.
  std::string status;        ///< As in grade.json.
  std::string verdict;       ///< Of exercise 02.1; several are possible: "HANG|CRASH".
  std::string mistake;       ///< The only one that is named; empty: not looked at.
  double least = 0;          ///< Points of 02.1, of its 10.
  double most = 0;           ///< As above.
  std::string problem = {};  ///< What a problem must say; empty: nothing is looked for.
};

/// Which of them are made.
enum class ClassSize {
  kQuick,  ///< Those that are judged in a second or two.
  kAll     ///< All 30.
};

/// Writes the submissions of a class into a folder.
/// @param root  The project's: files are made from its solutions, templates and banks of mistakes.
/// @param release  The tag that manifests name.
[[nodiscard]] std::vector<Expected> make_class(const std::filesystem::path& root, const std::filesystem::path& folder,
                                               const std::string& release, ClassSize size);

}  // namespace lockstep::grading
