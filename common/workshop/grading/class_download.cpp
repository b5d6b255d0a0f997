#include "grading/class_download.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/error.hpp"
#include "base/plain_text.hpp"
#include "grading/archive.hpp"
#include "grading/download_names.hpp"
#include "grading/manifest.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

std::string top_of(const std::string& name) { return name.substr(0, name.find('/')); }

// Files that Apple's programs add to zips and to other systems' disks, and an instructor's git repository.
bool is_clutter(const std::string& name) {
  const std::string top = top_of(name), file = name.substr(name.rfind('/') + 1);
  return top == "__MACOSX" || top == ".git" || file == ".DS_Store" || file.starts_with("._");
}

// True if there is a folder around everything, such as one that somebody has made before zipping it again.
bool has_folder_around(const std::vector<ReceivedFile>& files) {
  if (files.empty()) return false;
  const std::string top = top_of(files.front().name);
  return !moodle_name(top) && std::ranges::all_of(files, [&](const ReceivedFile& one) {
    return one.name.size() > top.size() && top_of(one.name) == top;
  });
}

std::vector<ReceivedFile> files_directly_in(const fs::path& folder) {
  std::vector<ReceivedFile> files;
  std::error_code unreadable;  // reported when the submission is graded
  for (const auto& entry : fs::directory_iterator(folder, unreadable))
    if (fs::is_regular_file(entry.symlink_status()) && !is_clutter(entry.path().filename()))
      files.push_back({entry.path().filename(), entry.path()});
  std::ranges::sort(files, {}, &ReceivedFile::name);
  return files;
}

}  // namespace

bool is_archive_name(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lower.ends_with(".zip") || lower.ends_with(".tar") || lower.ends_with(".tar.gz") || lower.ends_with(".tgz");
}

std::vector<ReceivedEntry> entries_of_folder(const fs::path& folder, std::vector<std::string>& ignored) {
  std::vector<ReceivedEntry> entries;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_clutter(entry.path().filename())) continue;
    std::error_code unknown;
    const fs::file_status status = fs::symlink_status(entry.path(), unknown);
    const bool is_folder = fs::is_directory(status);
    if (is_folder || fs::is_regular_file(status))
      entries.push_back({entry.path().filename(), entry.path(), is_folder,
                         is_folder ? files_directly_in(entry.path()) : std::vector<ReceivedFile>{}});
    else
      ignored.push_back(entry.path().filename());
  }
  std::ranges::sort(entries, {}, &ReceivedEntry::name);
  return entries;
}

std::vector<ReceivedEntry> entries_of_zip(const fs::path& zip, const fs::path& unpacked,
                                          std::vector<std::string>& ignored) {
  fs::create_directories(unpacked);
  Unpacked all = unpack_under_numbers(zip, unpacked);
  ignored.insert(ignored.end(), all.refusals.begin(), all.refusals.end());
  std::vector<ReceivedFile> files;
  for (auto& [name, path] : all.files)
    if (!is_clutter(name)) files.push_back({name, path});
  if (has_folder_around(files))
    for (ReceivedFile& one : files) one.name.erase(0, top_of(one.name).size() + 1);
  std::map<std::string, ReceivedEntry> entries;
  for (const ReceivedFile& one : files) {
    if (one.name == kManifestName)
      throw UsageError(concat(zip.string(), " is one submission; give the folder in which the submissions are"));
    ReceivedEntry& entry = entries[top_of(one.name)];
    entry.name = top_of(one.name);
    entry.is_folder = entry.name != one.name;
    if (entry.is_folder)
      entry.files.push_back({one.name.substr(entry.name.size() + 1), one.path});
    else
      entry.path = one.path;
  }
  std::vector<ReceivedEntry> sorted;
  for (auto& [name, entry] : entries) sorted.push_back(std::move(entry));
  return sorted;
}

}  // namespace lockstep::grading
