#pragma once
/// @file
/// The git repository that students clone: its first commit, and corrections during the term, a commit each.
#include <filesystem>
#include <string>
#include <vector>

#include "release/release_note.hpp"

namespace lockstep::release {

/// The files of a course that git tracks, relative to it, with names of any bytes. @throws Error  git fails.
[[nodiscard]] std::vector<std::string> tracked_files(const std::filesystem::path& course);

/// A release has the files of a commit, so there must be nothing else. work/ may be there: a lecturer who has tried
/// exercises has one, and no release does.
/// @throws UsageError  Files are changed or new; names the first. @throws Error  git fails.
void require_committed(const std::filesystem::path& course);

/// Makes a folder a repository with one commit of all of its files, and the note's tag. @throws Error  git fails.
void commit_release(const std::filesystem::path& folder, const ReleaseNote& note);

/// The note of a repository that can be corrected: it was made with this secret, its last commit is the release,
/// nothing in it is changed, and students' work/ is not in it.
/// @throws UsageError  It is not, with the reason.
[[nodiscard]] ReleaseNote require_correctable(const std::filesystem::path& repository,
                                              const std::filesystem::path& secret_file);

/// Adds one commit with exactly the files of a folder to the repository, and the note's tag. Files that are not in the
/// folder are deleted; what git does not track stays.
/// @param folder  The new state; has RELEASE. @pre require_correctable().
/// @throws UsageError  Only RELEASE differs. @throws Error  git fails; then the repository is as it was.
void commit_correction(const std::filesystem::path& repository, const std::filesystem::path& folder,
                       const ReleaseNote& note);

/// The commits that a release's history must have: one, and one for each correction. 1 without a note.
[[nodiscard]] int expected_commits(const std::filesystem::path& repository);

}  // namespace lockstep::release
