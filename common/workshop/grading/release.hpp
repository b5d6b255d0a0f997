#pragma once
/// @file
/// Which state of the course a tree is: what submissions name, and what grading compares.
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::grading {

inline constexpr const char* kReleaseFile = "RELEASE";  ///< In the root of a repository made by `lockstep release`.
inline constexpr std::string_view kReleaseTag = "release-";  ///< What the names of releases begin with.

/// A state of the course.
struct Release {
  std::string tag;     ///< "release-2027-spring"; "untagged" where there is none.
  std::string commit;  ///< Its commit; "unknown" outside of git.
};

/// What a file RELEASE says in its lines "release: release-2027-spring" and "commit: HASH". Other lines are not looked
/// at.
/// @param text  Of the file; lines may end in CR LF.
/// @throws FormatError  One of the two lines is missing, is there twice, or has no such value.
[[nodiscard]] Release parse_release(std::string_view text);

/// The release of the project's folder: what its file RELEASE says; without one, git: the commit, and the latest tag
/// that begins with "release-" and that the commit follows. Other tags are people's own.
/// @throws FormatError  RELEASE is not as it must be. @throws IoError  It cannot be read.
[[nodiscard]] Release release_of(const std::filesystem::path& root);

}  // namespace lockstep::grading
