#pragma once
/// @file
/// Identifies a tree's state of the course: submissions name it, and grading compares it.
#include <filesystem>
#include <string>
#include <string_view>

namespace lockstep::grading {

inline constexpr const char* kReleaseFile = "RELEASE";  ///< In the root of a repository made by `lockstep release`.
inline constexpr std::string_view kReleaseTag = "release-";  ///< Prefix of the names of releases.

/// A state of the course.
struct Release {
  std::string tag;     ///< "release-2027-spring"; "untagged" if there is none.
  std::string commit;  ///< "unknown" outside of git.
};

/// Reads "release: release-2027-spring" and "commit: HASH" from a file RELEASE. Other lines are ignored.
/// @param text  Of the file; lines may end in CR LF.
/// @throws FormatError  One of the two lines is missing, occurs twice, or has an invalid value.
[[nodiscard]] Release parse_release(std::string_view text);

/// The release of the project's folder, from its file RELEASE; without one, from git: the commit, and the latest tag
/// before it that begins with "release-". Other tags are private.
/// @throws FormatError  RELEASE is invalid. @throws IoError  It cannot be read.
[[nodiscard]] Release release_of(const std::filesystem::path& root);

}  // namespace lockstep::grading
