#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "lesson_commands.hpp"

namespace lockstep::checks {

namespace {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw IoError("cannot make a pipe", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Starts /bin/sh in a process group of its own.
pid_t start(const std::string& script, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_adddup2(&actions, output, 2);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::array<std::string, 3> words = {"sh", "-c", script};
  std::array<char*, 4> arguments = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = -1;
  const int error = ::posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw IoError("cannot start /bin/sh", error);
  return child;
}

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

/// Reads until the last writer has closed the pipe. False at the deadline.
bool read_all(int fd, const Deadline& deadline, std::string& text) {
  std::array<char, 4096> bytes{};
  while (true) {
    pollfd waited{fd, POLLIN, 0};
    const int ready = ::poll(&waited, 1, deadline.poll_timeout_ms());
    if (ready == 0) return false;
    if (ready < 0 && errno == EINTR) continue;
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    if (count <= 0) return true;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

CommandResult run_command(const std::string& command, const std::filesystem::path& folder,
                          const std::filesystem::path& path, std::chrono::milliseconds limit) {
  Pipe output = make_pipe();
  const std::string script = concat("cd ", quoted(folder), " && PATH=", quoted(path),
                                    ":\"$PATH\" && export PATH NO_COLOR=1 XDG_CONFIG_HOME=/nonexistent\n", command);
  const pid_t child = start(script, output.write_end.get());
  output.write_end.reset();
  CommandResult result;
  std::string text;
  result.was_stopped = !read_all(output.read_end.get(), Deadline::after(limit), text);
  ::kill(-child, SIGKILL);  // whatever the command has left behind, and itself where it was stopped
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.output = course::split_lines(text);
  return result;
}

}  // namespace lockstep::checks
