#include "grading/process_tree.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "base/processes.hpp"
#include "base/unique_fd.hpp"
#include "grading/memory_group.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{50};
constexpr std::size_t kMostErrors = 256 << 10;

// A process's resident memory; pages of files, which several processes may share, are counted separately.
struct Resident {
  std::uint64_t own = 0, of_files = 0;
};

Resident resident_bytes(pid_t pid) {
  std::ifstream file(concat("/proc/", pid, "/statm"));
  std::uint64_t all = 0, resident = 0, of_files = 0;
  file >> all >> resident >> of_files;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {(resident - of_files) * page, of_files * page};
}

// Size of unnamed files in memory that a process keeps open; they belong to no process. Each counts once.
std::uint64_t bytes_of_open_files(pid_t pid, std::set<std::pair<dev_t, ino_t>>& counted) {
  std::uint64_t sum = 0;
  std::error_code gone;
  for (fs::directory_iterator fd(concat("/proc/", pid, "/fd"), gone), end; !gone && fd != end; fd.increment(gone)) {
    struct stat status {};
    if (::stat(fd->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 0) continue;
    if (counted.insert({status.st_dev, status.st_ino}).second)
      sum += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return sum;
}

// Kills the largest process below `pid` if `pid` and all its descendants together are too large.
bool end_largest(pid_t pid, std::uint64_t most) {
  std::uint64_t sum = resident_bytes(pid).own, size_of_largest = 0;
  pid_t largest = -1;
  std::set<std::pair<dev_t, ino_t>> counted;
  for (const pid_t one : family_of(pid)) {
    if (one == pid) continue;
    const Resident resident = resident_bytes(one);
    const std::uint64_t bytes = resident.own + std::max(resident.of_files, bytes_of_open_files(one, counted));
    sum += bytes;
    if (bytes <= size_of_largest) continue;
    size_of_largest = bytes;
    largest = one;
  }
  if (sum <= most || largest <= 1) return false;
  ::kill(largest, SIGKILL);
  return true;
}

// Reading from it does not block.
Pipe make_output_pipe() {
  Pipe pipe = make_pipe();
  ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// An unnamed file in memory, positioned at its beginning.
UniqueFd file_with(const std::string& text) {
  UniqueFd file(::memfd_create("lockstep_input", MFD_CLOEXEC));
  if (!file.is_open()) throw IoError("cannot make a file in memory", errno);
  write_all(file.get(), text, "a file in memory");
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::optional<int> poll_exit_code(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  return exit_code_of(status);
}

}  // namespace

void adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) throw IoError("PR_SET_CHILD_SUBREAPER", errno);
}

void end_descendants() noexcept {
  // Processes started meanwhile are found in the next round, after their parents have died.
  while (true) {
    for (const pid_t pid : family_of(::getpid()))
      if (pid > 1 && pid != ::getpid()) ::kill(pid, SIGKILL);
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
    for (const pid_t pid : family_of(child))
      if (pid > 1) ::kill(pid, SIGKILL);
    ::waitpid(child, nullptr, WNOHANG);
  }
}

Ended run_watched(const std::vector<std::string>& command, const std::vector<std::string>& variables,
                  const fs::path& folder, const Allowance& allowance, const std::string& input) {
  Pipe out = make_output_pipe(), err = make_output_pipe();
  const UniqueFd in = file_with(input);
  const auto group = allowance.has_group ? MemoryGroup::create(allowance.memory_bytes) : std::nullopt;
  const pid_t pid = start_process(
      {.command = group ? group->wrapped(command) : command,
       .environment = variables,
       .folder = folder,
       .descriptors = {
           {STDIN_FILENO, in.get()}, {STDOUT_FILENO, out.write_end.get()}, {STDERR_FILENO, err.write_end.get()}}});
  out.write_end.reset();
  err.write_end.reset();
  const Clock::time_point until = Clock::now() + allowance.wall_time;
  Ended ended;
  std::optional<int> exit_code;
  Clock::time_point next_look = Clock::now();
  while (!exit_code) {
    pollfd events[] = {{out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}};
    // If both streams are closed, poll() only sleeps.
    ::poll(events, 2, out.read_end.is_open() || err.read_end.is_open() ? static_cast<int>(kPollInterval.count()) : 5);
    read_available(out.read_end, ended.output, allowance.output_bytes);
    read_available(err.read_end, ended.errors, kMostErrors);
    exit_code = poll_exit_code(pid);
    if (Clock::now() > until && !exit_code) {
      ended.is_out_of_time = true;
      break;
    }
    if (Clock::now() < next_look) continue;
    next_look = Clock::now() + kPollInterval;
    if (group && group->holds(pid)) continue;  // the kernel watches these
    ended.is_out_of_memory |= end_largest(pid, allowance.memory_bytes);
  }
  end_descendants();
  if (group && group->has_ended_processes()) ended.is_out_of_memory = true;
  read_available(out.read_end, ended.output, allowance.output_bytes);
  read_available(err.read_end, ended.errors, kMostErrors);
  ended.exit_code = exit_code.value_or(128 + SIGKILL);
  return ended;
}

}  // namespace lockstep::grading
