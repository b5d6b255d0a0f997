#pragma once
/// @file
/// The submissions of a class.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grading/download_names.hpp"

namespace lockstep::grading {

struct Task {
  std::filesystem::path submission = {};    ///< A zip or a folder.
  std::string key = {};                     ///< Names the results: valid in every path, and unique.
  std::string basis = {};                   ///< Fingerprint of submission and settings.
  std::optional<DownloadName> origin = {};  ///< If it is from Moodle's or Canvas' download.
  std::vector<std::string> notes = {};      ///< Remarks for the instructor: late, more than one file.
};

/// The submissions in a folder, or in a zip, in the order of their names. Skips links and files that are not archives,
/// but includes unreadable submissions, which cannot affect others' grades.
///
/// A submission's key is its name, without the ending, and with '_' in place of spaces and special characters; letters
/// of all languages stay. Files and folders with Moodle's or Canvas' names are grouped by student. Of several files one
/// is graded: the latest archive, if the names say which it is, otherwise submission.zip or the first archive. A file
/// that is no archive is refused later.
/// @param source  A folder, or the zip that Moodle or Canvas hands out.
/// @param settings_text  Everything else that a result depends on.
/// @param unpacked  A folder for the contents of a zip; created if needed.
/// @param ignored  Receives the names of skipped entries.
/// @throws UsageError  It is a zip with a single submission. @throws FormatError  The zip is damaged.
[[nodiscard]] std::vector<Task> find_submissions(const std::filesystem::path& source, const std::string& settings_text,
                                                 const std::filesystem::path& unpacked,
                                                 std::vector<std::string>& ignored);

}  // namespace lockstep::grading
