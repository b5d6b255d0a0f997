#pragma once
/// @file
/// A realistic class of submissions: right and wrong ones, and some that attack the grader.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::grading {

/// The expected result of one submission.
struct Expected {
  std::string key;           ///< Of the submission.
  std::string status;        ///< As in grade.json.
  std::string verdict;       ///< Of exercise 02.1; may list several: "HANG|CRASH".
  std::string mistake;       ///< The only mistake named; empty: not checked.
  double least = 0;          ///< Lower bound on the points of 02.1, of its 10.
  double most = 0;           ///< Upper bound.
  std::string problem = {};  ///< Text that a problem must contain; empty: not checked.
};

/// Which submissions to make.
enum class ClassSize {
  kQuick,  ///< Those judged in a second or two.
  kAll     ///< All 30.
};

/// Writes the submissions of a class into a folder.
/// @param root  The project's root: files are made from its solutions, templates and banks of mistakes.
/// @param release  The tag named in manifests.
[[nodiscard]] std::vector<Expected> make_class(const std::filesystem::path& root, const std::filesystem::path& folder,
                                               const std::string& release, ClassSize size);

}  // namespace lockstep::grading
