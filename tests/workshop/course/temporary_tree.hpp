#pragma once
/// @file
/// A small project in a temporary folder, for testing the checkers.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "support/temporary_folder.hpp"

namespace lockstep::checks {

/// Content by path relative to the root.
using Files = std::map<std::string, std::string>;

/// The beginning of a problem in a small project's lesson, up to the line number.
inline const std::string kPlace = "chapters/01_x/README.md:";

/// The constructor writes the files, the destructor removes them.
class TemporaryTree {
 public:
  explicit TemporaryTree(const Files& files) {
    for (const auto& [path, content] : files) write(path, content);
  }

  void write(const std::string& path, const std::string& content) const {
    std::filesystem::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << content;
  }

  [[nodiscard]] const std::filesystem::path& root() const noexcept { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace lockstep::checks
