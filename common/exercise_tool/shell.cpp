#include "exercise_tool/shell.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/argument_vector.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::exercise {
Finished run(const std::vector<std::string>& command, const std::filesystem::path& folder, Collect collect) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw IoError("cannot make a pipe", errno);
  const UniqueFd read_end(pipe[0]);
  UniqueFd write_end(pipe[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (collect != Collect::kNothing) posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  if (collect == Collect::kBoth) posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  std::vector<std::string> arguments = command;
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, command.front().c_str(), &actions, nullptr, pointers_to(arguments).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw IoError(concat("cannot start ", command.front()), error);
  write_end.reset();

  Finished finished;
  char piece[8192];
  while (true) {
    const ssize_t count = ::read(read_end.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    finished.output.append(piece, static_cast<std::size_t>(count));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  finished.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return finished;
}

void become(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  ::execvp(arguments.front().c_str(), pointers_to(arguments).data());
  throw IoError(concat("cannot start ", command.front()), errno);
}

}  // namespace lockstep::exercise
