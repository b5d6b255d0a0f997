#pragma once
/// @file
/// A folder that lives as long as a test case.
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace lockstep::test {

/// An empty folder of its own, removed with everything in it at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lockstep_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw IoError("making " + name, errno);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;  // a leftover in /tmp is no reason to fail
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace lockstep::test
