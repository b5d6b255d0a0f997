#pragma once
/// @file
/// Captures this process's standard error during an object's lifetime.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/unique_fd.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::test {

/// Redirects standard error to a file; the destructor restores it. One at a time.
class CapturedStderr {
 public:
  CapturedStderr() : saved_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
    const UniqueFd file(::open(path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!saved_.is_open() || !file.is_open() || ::dup2(file.get(), STDERR_FILENO) < 0) {
      throw IoError("redirecting standard error", errno);
    }
  }
  ~CapturedStderr() { ::dup2(saved_.get(), STDERR_FILENO); }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  /// The text so far.
  [[nodiscard]] std::string text() const { return read_file(path()); }

 private:
  [[nodiscard]] std::string path() const { return folder_ / "stderr"; }

  TemporaryFolder folder_;
  UniqueFd saved_;
};

}  // namespace lockstep::test
