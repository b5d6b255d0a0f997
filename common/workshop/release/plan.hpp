#pragma once
/// @file
/// Which files of the course a release has, and which it leaves out for what reason.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"

namespace lockstep::release {

/// What a release is made of. Paths are below the project's root.
struct Plan {
  std::vector<exercise::Exercise> exercises;               ///< That it has.
  std::set<std::string> files;                             ///< That are copied; some of them changed.
  std::map<std::string, std::set<std::string>> giveaways;  ///< Sources left out, and the exercises they answer.
  std::set<std::string> shown;  ///< "may_show": files that hold a part of an answer knowingly.

  /// Whether the release has a file or folder of this path.
  [[nodiscard]] bool has(const std::string& path) const;
};

/// @param tracked  All files that git knows. @param chosen  Numbers of exercises ("02.1") or chapters ("02"); empty:
/// all.
/// @throws UsageError  None is chosen. @throws FormatError  A file that an exercise names does not exist.
[[nodiscard]] Plan plan_release(const std::filesystem::path& root, const std::vector<std::string>& tracked,
                                const std::vector<std::string>& chosen);

/// Whether a path is one of those that no release may have: solutions, judges, mistakes, what is for instructors.
[[nodiscard]] bool is_for_instructors(const std::string& path);

}  // namespace lockstep::release
