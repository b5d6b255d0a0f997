#pragma once
/// @file
/// Writes submissions in the forms in which they arrive: zips, archives of any kind, folders.
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"
#include "grading/archive.hpp"

namespace lockstep::grading {

/// An archive entry with arbitrary content, as only an attacker makes it.
struct RawEntry {
  std::string path;  ///< Written unchanged.
  std::string text = {};
  std::string link = {};       ///< Not empty: a symbolic link to this path.
  std::string hard_link = {};  ///< Not empty: a hard link to this entry.
};

/// Formats of write_raw_archive().
enum class ArchiveKind { kZip, kTar, kGzippedTar };

/// Writes these entries without any checks.
void write_raw_archive(const std::filesystem::path& path, const std::vector<RawEntry>& entries, ArchiveKind kind);

/// Makes submissions of exercise 02.1 from the project's files, in one folder.
class ClassMaker {
 public:
  /// @param root  The project's root. @param folder  For submissions; created. @param release  Named in manifests.
  ClassMaker(std::filesystem::path root, std::filesystem::path folder, std::string release);

  /// The files of all exercises in one of the project's folders ("solutions").
  [[nodiscard]] Files all_from(const std::string& place) const;
  /// A file for 02.1 alone.
  [[nodiscard]] Files only(const std::string& text) const { return {{target(), text}}; }
  /// Path of the file of 02.1 in a submission.
  [[nodiscard]] std::string target() const;
  /// The text of one in tests/workshop/grading/submissions.
  [[nodiscard]] std::string submission(const std::string& name) const;
  /// The bank's file with one mistake permanently chosen.
  [[nodiscard]] std::string mistake(const std::string& name) const;
  /// A manifest for these files. @param student  Empty: derived from the key.
  [[nodiscard]] std::string manifest_of(const std::string& key, const Files& files,
                                        const std::string& student = "") const;

  /// Like `submit`.
  void zip(const std::string& key, Files files) const;
  /// Like a student's fork: without a manifest.
  void folder(const std::string& key, const Files& files) const;
  /// Path of a submission with this file name.
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path root_, folder_;
  std::string release_;
  std::vector<exercise::Exercise> catalogue_;
};

}  // namespace lockstep::grading
