// Standard input, output and error of every program are open. A program that was started with one of them closed
// (`>&-`, some services) would get its number for the next file or socket that it opens, and whatever is printed would
// be written there. The linker takes this file into each program that uses lockstep::base (see CMakeLists.txt), and
// the function runs before main() and before static objects are made.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

extern "C" __attribute__((constructor(101))) void lockstep_open_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() takes the lowest free number, which is this one. Without /dev (a bare chroot) the root folder keeps the
    // number taken: reading and writing then fail, and nothing else is hit.
    if (::open("/dev/null", O_RDWR) < 0) ::open("/", O_PATH);
  }
}
