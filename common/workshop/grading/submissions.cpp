#include "grading/submissions.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

// Digest of a submission: its archive's bytes, or names and bytes of its files.
std::string content_digest(const fs::path& path) {
  constexpr std::uint64_t kMost = 64 << 20, kMostOfFile = 1 << 20;  // larger ones are refused
  std::string text;
  if (!fs::is_directory(path)) return fs::file_size(path) > kMost ? "too large" : sha256_hex(read_file(path));
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (fs::is_regular_file(entry.symlink_status()) && files.size() < 5000) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    const std::uintmax_t bytes = fs::file_size(file);
    text += concat(file.string(), " ", bytes > kMostOfFile ? "too large" : sha256_hex(read_file(file)), "\n");
  }
  return sha256_hex(text);
}

// A submission that cannot be read (a folder without rights, a disk with errors) is retried in every grading.
std::string basis_of(const fs::path& path, const std::string& settings_text) {
  try {
    return sha256_hex(settings_text + content_digest(path));
  } catch (const std::exception&) {
    return "cannot be read";  // the process that grades it reports the reason
  }
}

// A name that is valid in every path.
std::string key_of(const fs::path& submission) {
  std::string key = fs::is_directory(submission) ? submission.filename() : submission.stem();
  if (key.ends_with(".tar")) key.erase(key.size() - 4);
  std::ranges::replace_if(
      key,
      [](char letter) {
        return !((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                 (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.');
      },
      '_');
  return key.starts_with('.') ? "_" + key : key;
}

bool is_archive(const fs::path& path) {
  const std::string name = path.filename();
  return name.ends_with(".zip") || name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz");
}

}  // namespace

std::vector<Task> find_submissions(const fs::path& folder, const std::string& settings_text,
                                   std::vector<std::string>& ignored) {
  std::vector<Task> tasks;
  std::set<std::string> keys;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    std::error_code unknown;
    const fs::file_status status = fs::symlink_status(path, unknown);
    if (!fs::is_directory(status) && !(fs::is_regular_file(status) && is_archive(path))) {
      ignored.push_back(path.filename());
      continue;
    }
    std::string key = key_of(path);
    while (!keys.insert(key).second) key += "_";
    tasks.push_back({path, key, basis_of(path, settings_text)});
  }
  return tasks;
}

}  // namespace lockstep::grading
