#include "class_maker.hpp"

#include <archive.h>
#include <archive_entry.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"
#include "grading/manifest.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;

constexpr const char* kExercise = "02.1";  // the exercise that attacks target

}  // namespace

void write_raw_archive(const fs::path& path, const std::vector<RawEntry>& entries, ArchiveKind kind) {
  ::archive* const writer = ::archive_write_new();
  if (kind == ArchiveKind::kZip)
    ::archive_write_set_format_zip(writer);
  else
    ::archive_write_set_format_pax_restricted(writer);
  if (kind == ArchiveKind::kGzippedTar) ::archive_write_add_filter_gzip(writer);
  if (::archive_write_open_filename(writer, path.c_str()) != ARCHIVE_OK) throw IoError(path.string(), 0);
  for (const RawEntry& raw : entries) {
    ::archive_entry* const entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, raw.path.c_str());
    ::archive_entry_set_perm(entry, 0644);
    ::archive_entry_set_filetype(entry, raw.link.empty() ? AE_IFREG : AE_IFLNK);
    if (!raw.link.empty()) ::archive_entry_set_symlink(entry, raw.link.c_str());
    if (!raw.hard_link.empty()) ::archive_entry_set_hardlink(entry, raw.hard_link.c_str());
    ::archive_entry_set_size(entry, static_cast<la_int64_t>(raw.text.size()));
    ::archive_write_header(writer, entry);
    ::archive_write_data(writer, raw.text.data(), raw.text.size());
    ::archive_entry_free(entry);
  }
  ::archive_write_close(writer);
  ::archive_write_free(writer);
}

ClassMaker::ClassMaker(fs::path root, fs::path folder, std::string release)
    : root_(std::move(root)),
      folder_(std::move(folder)),
      release_(std::move(release)),
      catalogue_(exercise::read_catalogue(root_)) {
  fs::create_directories(folder_);
}

Files ClassMaker::all_from(const std::string& place) const {
  Files files;
  for (const Exercise& one : catalogue_)
    for (const std::string& file : one.files)
      files[path_in_submission(one, file)] = read_file(one.in(root_ / place) / file);
  return files;
}

std::string ClassMaker::target() const {
  const Exercise& one = find_exercise(catalogue_, kExercise);
  return path_in_submission(one, one.files.front());
}

std::string ClassMaker::submission(const std::string& name) const {
  return read_file(root_ / "tests" / "workshop" / "grading" / "submissions" / (name + ".cpp"));
}

std::string ClassMaker::mistake(const std::string& name) const {
  std::string text = read_file(find_exercise(catalogue_, kExercise).in(root_ / "tests" / "exercises") / "mistakes.cpp");
  const std::string bank = "}  // namespace lockstep::exercise\n";
  text.erase(0, text.find(bank) + bank.size());
  const std::string use = "using exercise::is_mistake;\n";
  text.replace(text.find(use), use.size(),
               concat("namespace {\nbool is_mistake(std::string_view one) { return one == \"", name, "\"; }\n}\n"));
  return concat(
      "#include <string_view>\n#include <vector>\n\n#include "
      "\"02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp\"\n",
      text);
}

std::string ClassMaker::manifest_of(const std::string& key, const Files& files, const std::string& student) const {
  Manifest manifest{.student = student.empty() ? "Student " + key : student,
                    .release = {release_, "unknown"},
                    .exercises = {},
                    .references = {},
                    .digests = {}};
  for (const auto& [name, text] : files) manifest.digests[name] = sha256_hex(text);
  return to_text(manifest);
}

void ClassMaker::zip(const std::string& key, Files files) const {
  files[kManifestName] = manifest_of(key, files);
  write_zip(folder_ / (key + ".zip"), files);
}

void ClassMaker::folder(const std::string& key, const Files& files) const {
  for (const auto& [name, text] : files) {
    fs::create_directories((folder_ / key / name).parent_path());
    write_file(folder_ / key / name, text);
  }
}

}  // namespace lockstep::grading
