#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/process.hpp"
#include "lesson_commands.hpp"

namespace lockstep::checks {

namespace {

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
  const pid_t child =
      start_process({.command = {"/bin/sh", "-c", script},
                     .descriptors = {{STDOUT_FILENO, output.write_end.get()}, {STDERR_FILENO, output.write_end.get()}},
                     .empty_streams = {STDIN_FILENO},
                     .leads_group = true});
  output.write_end.reset();
  CommandResult result;
  std::string text;
  result.was_stopped = !read_all(output.read_end.get(), Deadline::after(limit), text);
  ::kill(-child, SIGKILL);  // remaining processes of the command, and the command itself if it was stopped
  result.exit_status = wait_for_process(child);
  result.output = course::split_lines(text);
  return result;
}

}  // namespace lockstep::checks
