#include "base/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"

namespace lockstep {
namespace {

// Pointers to the strings' characters, then a null pointer: an argv or envp. The strings must outlive it.
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The attributes and file actions of posix_spawn, freed at the end of the scope.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

// A copy of `fd` above all target numbers, so that no dup2() in the new process closes a source that is still needed.
UniqueFd moved_above(int fd, int highest) {
  UniqueFd moved(::fcntl(fd, F_DUPFD_CLOEXEC, highest + 1));
  if (!moved.is_open()) throw IoError("cannot pass a descriptor to a program (ulimit -n raises their number)", errno);
  return moved;
}

// Adds the opening, copying and closing of descriptors in the new process. @return  Copies to keep until it has
// started.
std::vector<UniqueFd> plan_descriptors(SpawnPlan& plan, const ProcessStart& start) {
  int highest = STDERR_FILENO;
  for (const PassedDescriptor& passed : start.descriptors) highest = std::max(highest, passed.number);
  std::vector<bool> is_given(static_cast<std::size_t>(highest) + 1);
  std::vector<UniqueFd> copies;
  for (const int number : start.empty_streams)
    posix_spawn_file_actions_addopen(&plan.actions, number, "/dev/null", O_RDWR, 0);
  for (const PassedDescriptor& passed : start.descriptors) {
    int source = passed.fd;
    if (source <= highest) {
      copies.push_back(moved_above(source, highest));
      source = copies.back().get();
    }
    posix_spawn_file_actions_adddup2(&plan.actions, source, passed.number);
    is_given[static_cast<std::size_t>(passed.number)] = true;
  }
  for (int number = STDERR_FILENO + 1; number <= highest; ++number)
    if (!is_given[static_cast<std::size_t>(number)]) posix_spawn_file_actions_addclose(&plan.actions, number);
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, highest + 1);
  return copies;
}

void plan_signals(SpawnPlan& plan, const ProcessStart& start) {
  int flags = 0;
  if (start.leads_group) {
    posix_spawnattr_setpgroup(&plan.attributes, 0);
    flags |= POSIX_SPAWN_SETPGROUP;
  }
  if (start.signals) {
    sigset_t defaults;
    sigfillset(&defaults);
    for (int signal = 1; signal < NSIG; ++signal)
      if (sigismember(&start.signals->ignored, signal) == 1) sigdelset(&defaults, signal);
    posix_spawnattr_setsigdefault(&plan.attributes, &defaults);
    posix_spawnattr_setsigmask(&plan.attributes, &start.signals->blocked);
    flags |= POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  }
  posix_spawnattr_setflags(&plan.attributes, static_cast<short>(flags));
}

void set_nonblocking(const UniqueFd& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

}  // namespace

pid_t start_process(ProcessStart start) {
  require(!start.command.empty(), "a program to be started has no name");
  SpawnPlan plan;
  const std::vector<UniqueFd> copies = plan_descriptors(plan, start);
  if (!start.folder.empty()) posix_spawn_file_actions_addchdir_np(&plan.actions, start.folder.c_str());
  plan_signals(plan, start);
  std::vector<char*> variables;
  if (start.environment) variables = pointers_to(*start.environment);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, start.command.front().c_str(), &plan.actions, &plan.attributes,
                                   pointers_to(start.command).data(), start.environment ? variables.data() : environ);
  if (error == 0) return pid;
  const std::string place = start.folder.empty() ? "" : concat(" in ", start.folder.string());
  throw IoError(concat("cannot start ", start.command.front(), place), error);
}

void become_program(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  ::execvp(arguments.front().c_str(), pointers_to(arguments).data());
  throw IoError(concat("cannot start ", command.front()), errno);
}

int exit_code_of(int wait_status) noexcept {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

int wait_for_process(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) throw IoError(concat("cannot wait for process ", pid), errno);
  return exit_code_of(status);
}

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw IoError("cannot make a pipe (ulimit -n raises their number)", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void read_available(UniqueFd& fd, std::string& text, std::size_t most) {
  char piece[16384];
  for (int reads = 0; fd.is_open() && reads < 64; ++reads) {
    const ssize_t count = ::read(fd.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    if (count == 0) return fd.reset();
    const std::size_t room = most > text.size() ? most - text.size() : 0;
    text.append(piece, std::min(room, static_cast<std::size_t>(count)));
  }
}

FinishedProcess run_process(ProcessStart start, Collect collect, const ProcessLimits& limits) {
  Pipe out, err;
  if (collect == Collect::kOutput || collect == Collect::kBoth || collect == Collect::kSeparate) out = make_pipe();
  if (collect == Collect::kErrors || collect == Collect::kSeparate) err = make_pipe();
  if (out.write_end.is_open()) start.descriptors.push_back({STDOUT_FILENO, out.write_end.get()});
  if (collect == Collect::kBoth) start.descriptors.push_back({STDERR_FILENO, out.write_end.get()});
  if (err.write_end.is_open()) start.descriptors.push_back({STDERR_FILENO, err.write_end.get()});
  const bool leads_group = start.leads_group;
  const pid_t pid = start_process(std::move(start));
  out.write_end.reset();
  err.write_end.reset();
  if (out.read_end.is_open()) set_nonblocking(out.read_end);
  if (err.read_end.is_open()) set_nonblocking(err.read_end);
  // Readable once the process has ended. Kernels without pidfd_open are polled every few milliseconds.
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));

  const Deadline deadline = limits.time ? Deadline::after(*limits.time) : Deadline::never();
  FinishedProcess finished;
  int status = 0;
  while (true) {
    const bool has_ended = ::waitpid(pid, &status, WNOHANG) == pid;
    read_available(out.read_end, finished.output, limits.output_bytes);
    read_available(err.read_end, finished.errors, limits.output_bytes);
    if (has_ended) break;
    if (deadline.has_expired()) {
      finished.is_out_of_time = true;
      ::kill(leads_group ? -pid : pid, SIGKILL);
    }
    pollfd watched[] = {{ended.get(), POLLIN, 0}, {out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}};
    constexpr int kLookMs = 5;
    ::poll(watched, 3, ended.is_open() && !finished.is_out_of_time ? deadline.poll_timeout_ms() : kLookMs);
  }
  finished.exit_code = exit_code_of(status);
  return finished;
}

}  // namespace lockstep
