#include "grading/protections.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <vector>

namespace lockstep::grading {
namespace {

bool can_connect() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  ::inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);  // reserved for documentation: no machine has it
  const bool is_sent =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EINPROGRESS;
  ::close(fd);
  return is_sent;
}

bool can_start(int processes) {
  std::vector<pid_t> started;
  bool is_refused = false;
  while (!is_refused && static_cast<int>(started.size()) < processes) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::pause();
      std::_Exit(0);
    }
    if (pid < 0)
      is_refused = true;
    else
      started.push_back(pid);
  }
  for (const pid_t pid : started) ::kill(pid, SIGKILL);
  for (const pid_t pid : started) ::waitpid(pid, nullptr, 0);
  return !is_refused;
}

bool can_allocate(std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory != MAP_FAILED;
}

bool can_write_file_of(off_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  char name[] = "/tmp/lockstep_try_XXXXXX";
  const int fd = ::mkstemp(name);
  if (fd < 0) return false;
  ::unlink(name);
  const bool is_done = ::ftruncate(fd, bytes) == 0;
  ::close(fd);
  return is_done;
}

bool can_create(const char* path) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return false;
  ::close(fd);
  ::unlink(path);
  return true;
}

bool has_room_for(std::uint64_t bytes) {
  struct statvfs room {};
  return ::statvfs("/tmp", &room) != 0 || static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize > bytes;
}

}  // namespace

int try_protection(std::string_view name, const char* argument) {
  const auto number = std::strtoull(argument, nullptr, 10);
  if (name == "network") return can_connect() ? 1 : 0;
  if (name == "read") return ::access(argument, R_OK) == 0 ? 1 : 0;
  if (name == "write") return can_create(argument) ? 1 : 0;
  if (name == "signal") return ::kill(static_cast<pid_t>(number), 0) == 0 ? 1 : 0;
  if (name == "processes") return can_start(static_cast<int>(number)) ? 1 : 0;
  if (name == "memory") return can_allocate(number) ? 1 : 0;
  if (name == "file") return can_write_file_of(static_cast<off_t>(number)) ? 1 : 0;
  if (name == "fill") return has_room_for(number) ? 1 : 0;
  return 2;
}

}  // namespace lockstep::grading
