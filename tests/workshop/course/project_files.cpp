#include "project_files.hpp"

#include <algorithm>
#include <array>

namespace lockstep::checks {

namespace fs = std::filesystem;

std::vector<std::string> project_files(const fs::path& root) {
  constexpr std::array<std::string_view, 7> kNeverCommitted = {".git",      "build",  "runs",        "work",
                                                               ".lockstep", ".cache", "node_modules"};
  std::vector<std::string> paths;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename().string();
    const bool is_top = entry.depth() == 0;
    if (is_top && std::find(kNeverCommitted.begin(), kNeverCommitted.end(), name) != kNeverCommitted.end()) {
      entry.disable_recursion_pending();
      continue;
    }
    if (entry->is_regular_file()) paths.push_back(entry->path().lexically_relative(root).generic_string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> select_files(const std::vector<std::string>& paths, const std::string& folder,
                                      const std::vector<std::string>& extensions) {
  std::vector<std::string> selected;
  for (const std::string& path : paths) {
    const std::string extension = fs::path(path).extension().string();
    const bool is_below = folder.empty() || path.starts_with(folder + "/");
    if (is_below && std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) {
      selected.push_back(path);
    }
  }
  return selected;
}

course::TextFile read_project_file(const fs::path& root, const std::string& path) {
  return course::read_text_file(root / path, path);
}

}  // namespace lockstep::checks
