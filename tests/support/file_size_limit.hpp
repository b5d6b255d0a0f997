#pragma once
/// @file
/// A disk that is full, for this process.
#include <signal.h>
#include <sys/resource.h>

#include <cstddef>

namespace lockstep::test {

/// While it lives, this process's files grow to `bytes` and no further: writing more fails with EFBIG.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) : old_handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit lowered = old_;
    lowered.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &lowered);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  sighandler_t old_handler_;
};

}  // namespace lockstep::test
