#include "base/inherited_fds.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <limits>

namespace lockstep {

void close_inherited_on_exec() noexcept {
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  if (::close_range(kFirst, std::numeric_limits<unsigned>::max(), CLOSE_RANGE_CLOEXEC) == 0) return;
  // Kernels before 5.11 refuse this flag. There, 1024 numbers are enough: shells leave no higher ones open.
  for (int fd = static_cast<int>(kFirst); fd < 1024; ++fd)
    if (const int flags = ::fcntl(fd, F_GETFD); flags >= 0) ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

}  // namespace lockstep
