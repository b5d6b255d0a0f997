// Makes sure that standard input, output and error are open in every program. If a program is started with one of them
// closed (`>&-`, some services), its next file or socket would get that number, and printed text would be written
// there. The linker takes this file into each program that uses lockstep::base (see CMakeLists.txt), and the function
// runs before main() and before static objects are constructed.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

extern "C" __attribute__((constructor(101))) void lockstep_open_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() takes the lowest free number, which is this one. Without /dev (a bare chroot), opening the root folder
    // reserves the number: reading and writing then fail, and nothing else is affected.
    if (::open("/dev/null", O_RDWR) < 0) ::open("/", O_PATH);
  }
}
