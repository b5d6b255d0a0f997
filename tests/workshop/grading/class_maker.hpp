#pragma once
/// @file
/// Submissions written as they come in: zips, archives of any kind, folders.
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"
#include "grading/archive.hpp"

namespace lockstep::grading {

/// An entry of an archive of anything at all, as only an attacker makes it.
struct RawEntry {
  std::string path;            ///< As it is written into the archive.
  std::string text = {};       ///< Its bytes.
  std::string link = {};       ///< Not empty: a symbolic link to there.
  std::string hard_link = {};  ///< Not empty: a hard link to that entry.
};

/// Formats of write_raw_archive().
enum class ArchiveKind { kZip, kTar, kGzippedTar };

/// Writes these entries, whatever they are.
void write_raw_archive(const std::filesystem::path& path, const std::vector<RawEntry>& entries, ArchiveKind kind);

/// Makes submissions of exercise 02.1 from the project's files, in one folder.
class ClassMaker {
 public:
  /// @param root  The project's. @param folder  For submissions; it is made. @param release  That manifests name.
  ClassMaker(std::filesystem::path root, std::filesystem::path folder, std::string release);

  /// The files of all exercises below one of the project's folders ("solutions").
  [[nodiscard]] Files all_from(const std::string& place) const;
  /// A file for 02.1 alone.
  [[nodiscard]] Files only(const std::string& text) const { return {{target(), text}}; }
  /// Where the file of 02.1 is in a submission.
  [[nodiscard]] std::string target() const;
  /// One of those in tests/workshop/grading/submissions.
  [[nodiscard]] std::string submission(const std::string& name) const;
  /// The bank's file with one mistake chosen for good.
  [[nodiscard]] std::string mistake(const std::string& name) const;
  /// A manifest that fits these files. @param student  Empty: made from the key.
  [[nodiscard]] std::string manifest_of(const std::string& key, const Files& files,
                                        const std::string& student = "") const;

  /// As `submit` makes it.
  void zip(const std::string& key, Files files) const;
  /// As a student's fork is: without a manifest.
  void folder(const std::string& key, const Files& files) const;
  /// Of a submission with this file name.
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path root_, folder_;
  std::string release_;
  std::vector<exercise::Exercise> catalogue_;
};

}  // namespace lockstep::grading
