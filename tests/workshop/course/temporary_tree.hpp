#pragma once
/// @file
/// A small project in a temporary folder, to see a checker fail.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "support/temporary_folder.hpp"

namespace lockstep::checks {

/// Path below the root to content.
using Files = std::map<std::string, std::string>;

/// How a problem of a small project's lesson begins, up to the number of the line.
inline const std::string kPlace = "chapters/01_x/README.md:";

/// Made with its files, removed with the object.
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
