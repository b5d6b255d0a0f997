#pragma once
/// @file
/// A folder with the lifetime of a test case.
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace lockstep::test {

/// A new, empty folder; the destructor removes it with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lockstep_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw IoError("making " + name, errno);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;  // a leftover in /tmp does no harm
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
