#pragma once
/// @file
/// What an instructor has received from a class: a folder, or one zip from Moodle or Canvas.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grading {

/// A file that somebody has handed in.
struct ReceivedFile {
  std::string name;            ///< In its entry, with slashes; as the student chose it.
  std::filesystem::path path;  ///< Where it is; no text of a zip is part of it.
};

/// A file or folder at the top of what was received.
struct ReceivedEntry {
  std::string name;            ///< As it is called there.
  std::filesystem::path path;  ///< Of the file or folder; empty for a folder in a zip.
  bool is_folder = false;
  std::vector<ReceivedFile> files = {};  ///< In a folder: those directly in it, or all of them for one in a zip.
};

/// True for names of archives that submissions may be, in small letters or capitals.
[[nodiscard]] bool is_archive_name(const std::string& name);

/// The entries of a folder in the order of their names, without links, what Apple's programs add, and .git.
/// @param ignored  Receives the names of links and special files.
[[nodiscard]] std::vector<ReceivedEntry> entries_of_folder(const std::filesystem::path& folder,
                                                           std::vector<std::string>& ignored);

/// The entries of a zip in the order of their names. A folder around all of them is left out, unless it has Moodle's
/// name. Files are written into `unpacked` under numbers; of one that is too large for a submission only the beginning.
/// @throws UsageError  It is one submission. @throws FormatError  It is no zip, or a damaged one, or has too many
/// files.
[[nodiscard]] std::vector<ReceivedEntry> entries_of_zip(const std::filesystem::path& zip,
                                                        const std::filesystem::path& unpacked,
                                                        std::vector<std::string>& ignored);

}  // namespace lockstep::grading
