#include "grading/process_tree.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>

#include "base/argument_vector.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{50};
constexpr std::size_t kMostErrors = 256 << 10;

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> all;
  std::error_code gone;
  for (fs::directory_iterator task(concat("/proc/", pid, "/task"), gone), end; !gone && task != end;
       task.increment(gone)) {
    std::ifstream children(task->path() / "children");
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
  return all;
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::vector<pid_t> all = children_of(pid);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<pid_t> below = children_of(all[i]);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::uint64_t resident_bytes(pid_t pid) {
  std::ifstream file(concat("/proc/", pid, "/statm"));
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Ends the largest process below `pid` where all of them together are too large.
bool end_largest(pid_t pid, std::uint64_t most) {
  std::uint64_t sum = 0, size_of_largest = 0;
  pid_t largest = -1;
  for (const pid_t one : descendants_of(pid)) {
    const std::uint64_t bytes = resident_bytes(one);
    sum += bytes;
    if (bytes <= size_of_largest) continue;
    size_of_largest = bytes;
    largest = one;
  }
  if (sum <= most || largest <= 1) return false;
  ::kill(largest, SIGKILL);
  return true;
}

struct Pipe {
  UniqueFd read_end, write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw IoError("cannot make a pipe", errno);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

pid_t start(std::vector<std::string> command, std::vector<std::string> variables, const fs::path& folder, int out,
            int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, command.front().c_str(), &actions, nullptr, pointers_to(command).data(),
                                   pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw IoError(concat("cannot start ", command.front()), error);
  return pid;
}

// Takes what has arrived; closes at the end of the stream. What exceeds `most` is dropped.
void read_into(UniqueFd& fd, std::string& text, std::size_t most) {
  char piece[16384];
  while (fd.is_open()) {
    const ssize_t count = ::read(fd.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    if (count == 0) return fd.reset();
    const std::size_t room = most > text.size() ? most - text.size() : 0;
    text.append(piece, std::min(room, static_cast<std::size_t>(count)));
  }
}

std::optional<int> exit_code_of(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

void adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) throw IoError("PR_SET_CHILD_SUBREAPER", errno);
}

void end_descendants() noexcept {
  // Processes started in the meantime are found in the next round, when their parents are already dead.
  while (true) {
    const std::vector<pid_t> all = descendants_of(::getpid());
    for (const pid_t pid : all)
      if (pid > 1) ::kill(pid, SIGKILL);
    bool has_children = false;
    for (pid_t ended = 1; ended > 0;) {
      ended = ::waitpid(-1, nullptr, WNOHANG);
      has_children = ended == 0 || (ended < 0 && errno != ECHILD);
    }
    if (!has_children) return;
    ::poll(nullptr, 0, 2);
  }
}

void end_other_children(const std::set<pid_t>& kept) noexcept {
  for (const pid_t child : children_of(::getpid())) {
    if (kept.contains(child) || child <= 1) continue;
    for (const pid_t pid : descendants_of(child))
      if (pid > 1) ::kill(pid, SIGKILL);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, WNOHANG);
  }
}

Ended run_watched(const std::vector<std::string>& command, const std::vector<std::string>& variables,
                  const fs::path& folder, const Allowance& allowance) {
  Pipe out = make_pipe(), err = make_pipe();
  const pid_t pid = start(command, variables, folder, out.write_end.get(), err.write_end.get());
  out.write_end.reset();
  err.write_end.reset();
  const Clock::time_point until = Clock::now() + allowance.wall_time;
  Ended ended;
  std::optional<int> exit_code;
  Clock::time_point next_look = Clock::now();
  while (!exit_code) {
    pollfd events[] = {{out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}};
    // Where both streams are closed, poll() waits for its time alone.
    ::poll(events, 2, out.read_end.is_open() || err.read_end.is_open() ? static_cast<int>(kLook.count()) : 5);
    read_into(out.read_end, ended.output, allowance.output_bytes);
    read_into(err.read_end, ended.errors, kMostErrors);
    exit_code = exit_code_of(pid);
    if (Clock::now() > until && !exit_code) {
      ended.is_out_of_time = true;
      break;
    }
    if (Clock::now() < next_look) continue;
    next_look = Clock::now() + kLook;
    ended.is_out_of_memory |= end_largest(pid, allowance.memory_bytes);
  }
  end_descendants();
  read_into(out.read_end, ended.output, allowance.output_bytes);
  read_into(err.read_end, ended.errors, kMostErrors);
  ended.exit_code = exit_code.value_or(128 + SIGKILL);
  return ended;
}

}  // namespace lockstep::grading
