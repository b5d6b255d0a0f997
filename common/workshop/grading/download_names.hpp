#pragma once
/// @file
/// The names that Moodle and Canvas give to submissions in the zip with which they hand out a whole class.
#include <optional>
#include <string>

namespace lockstep::grading {

enum class Platform { kMoodle, kCanvas };

/// The parts of such a name. Students choose parts of it, so no text of it is ever used as a path.
struct DownloadName {
  Platform platform = Platform::kMoodle;
  std::string student = {};  ///< Printable: "Ada Lovelace", or Canvas' "lovelaceada"; "anon x7Fq2" if it hides names.
  std::string number =
      {};                 ///< Moodle's number of the participant, Canvas' of the user: digits. Empty: names are hidden.
  std::string kind = {};  ///< Moodle: "file", "onlinetext". Canvas: "file".
  std::string file = {};  ///< The name of the file that was handed in; empty for a folder of Moodle's.
  std::string upload = {};  ///< Canvas: the number of this file; a later one is larger.
  bool is_late = false;     ///< Canvas says so.

  /// Names the results: "moodle_1234567", "canvas_12345". Valid in every path: digits and letters.
  [[nodiscard]] std::string key() const;
  /// True if the platform does not say who it is.
  [[nodiscard]] bool hides_student() const { return number.empty() || student == "Participant"; }
};

/// Reads the name of a folder ("Ada Lovelace_1234567_assignsubmission_file_", older versions without the last "_"), or
/// of a file, if "Download submissions in folders" is off ("Ada
/// Lovelace_1234567_assignsubmission_file_submission.zip").
/// @source Moodle 5, mod/assign/classes/downloader.php, get_student_prefix() and load_submissionplugin_filelist().
[[nodiscard]] std::optional<DownloadName> moodle_name(const std::string& name);

/// Reads the name of a file: "lovelaceada_12345_6789_submission.zip", late ones "lovelaceada_LATE_12345_6789_...";
/// "anon_x7Fq2_6789_..." if names are hidden. A file that was handed in again has -1, -2, ... before its ending.
/// @source Canvas LMS, lib/content_zipper.rb, get_filename() and add_upload_submission().
[[nodiscard]] std::optional<DownloadName> canvas_name(const std::string& name);

/// The letters and digits of a person's name, in lower case, and all bytes outside of ASCII: Moodle and Canvas leave
/// out different signs.
[[nodiscard]] std::string comparable_name(const std::string& name);

}  // namespace lockstep::grading
