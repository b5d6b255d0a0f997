// lockstep_reaper: the parent of the ranks of one host. It lives exactly as long as they do, and no process that they
// started outlives it, even if the launcher is killed or a rank starts processes and ends.
//
// It has one thread and is a separate program, so that fork() is safe here regardless of the launcher's process, and so
// that the kernel's "signal me when my parent dies" (which means the parent's thread) has a lasting parent.
//
//     launcher -> guardian -> reaper -> ranks -> processes that they start
//
// Guardian and reaper are both subreapers: a process whose parent ends becomes the reaper's child, or the guardian's if
// the reaper has been killed. So any one of launcher, guardian and reaper may be killed, or launcher and reaper at
// once: the remaining watcher is an ancestor of every process of the job.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/processes.hpp"
#include "base/unique_fd.hpp"
#include "launch/local/reaper_protocol.hpp"
#include "launch/local/signal_queue.hpp"

namespace {

using lockstep::Deadline;
using lockstep::UniqueFd;
using namespace lockstep::launch;

// Pauses between walks over /proc: short while another walk may find a process forked during the last one; long
// afterwards, when the remaining ones are stuck in the kernel, perhaps waiting for a disk, and cannot be killed yet.
constexpr int kPauseMs = 10, kLongPauseMs = 1000;
constexpr std::chrono::seconds kPatience{1};
// Time that the guardian gives the reaper to kill its descendants, before it does so itself.
constexpr std::chrono::seconds kReaperLimit{1};

void report(ReaperEvent::Kind kind, int local_rank, int detail) {
  const ReaperEvent event{kind, local_rank, detail};
  send(kControlFd, &event, sizeof(event), MSG_NOSIGNAL);  // a dead launcher is noticed elsewhere
}

// As subreaper this process inherits the orphans of its descendants. So once it has no child, it has no descendant
// either. `reap` collects the children that have ended, and returns false once there is none.
template <typename Reap>
void kill_descendants(const SignalQueue& signals, const Reap& reap) {
  const Deadline patience = Deadline::after(kPatience);
  while (reap()) {
    for (const pid_t pid : lockstep::descendants_of(getpid())) kill(pid, SIGKILL);
    const bool is_stuck = patience.has_expired();
    if (is_stuck) close(STDERR_FILENO);  // a reader of the job's output must not wait for this process
    pollfd watched{signals.fd(), POLLIN, 0};
    poll(&watched, 1, is_stuck ? kLongPauseMs : kPauseMs);
    while (signals.take() != 0) continue;
  }
}

struct Rank {
  pid_t pid = -1;
  bool has_ended = true;
};

class Reaper {
 public:
  /// @param guardian  Is closed when the guardian ends.
  Reaper(int world_size, int first_rank, char** command, const SignalQueue& signals, UniqueFd guardian)
      : first_rank_(first_rank),
        command_(command),
        ranks_(static_cast<std::size_t>(world_size)),
        signals_(signals),
        guardian_(std::move(guardian)) {}

  int run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!start(static_cast<int>(r))) break;
    }
    for (int fd = output_fd(0); fd < output_fd(static_cast<int>(ranks_.size())); ++fd) close(fd);
    while (std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return !rank.has_ended; })) {
      if (!serve()) break;
    }
    kill_descendants(signals_, [this] { return reap(); });
    return 0;
  }

 private:
  bool start(int local_rank) {
    int failure_pipe[2];  // closed by a successful exec; otherwise carries errno
    if (pipe2(failure_pipe, O_CLOEXEC) != 0) return report_failed_start(local_rank, errno);
    const UniqueFd failure(failure_pipe[0]);
    UniqueFd failure_sink(failure_pipe[1]);
    const pid_t reaper = getpid();
    const pid_t pid = fork();
    if (pid < 0) return report_failed_start(local_rank, errno);
    if (pid == 0) become_rank(local_rank, reaper, failure_sink.get());
    failure_sink.reset();
    int error = 0;
    if (read(failure.get(), &error, sizeof(error)) == sizeof(error)) return report_failed_start(local_rank, error);
    ranks_[static_cast<std::size_t>(local_rank)] = {pid, false};
    report(ReaperEvent::Kind::kStarted, local_rank, pid);
    return true;
  }

  static bool report_failed_start(int local_rank, int error) {
    report(ReaperEvent::Kind::kStartFailed, local_rank, error);
    return false;
  }

  // In the child, between fork and exec.
  [[noreturn]] void become_rank(int local_rank, pid_t reaper, int failure_sink) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != reaper) _exit(127);  // the reaper died before the line above took effect
    setpgid(0, 0);                        // a rank and its processes can be signalled as one
    sigprocmask(SIG_SETMASK, &signals_.original_mask(), nullptr);
    dup2(output_fd(local_rank), STDOUT_FILENO);
    dup2(output_fd(local_rank) + 1, STDERR_FILENO);
    const std::string rank = std::to_string(first_rank_ + local_rank);
    setenv("RANK", rank.c_str(), 1);
    setenv("ROLE_RANK", rank.c_str(), 1);  // all ranks of a job have one role
    setenv("LOCAL_RANK", std::to_string(local_rank).c_str(), 1);
    execvp(command_[0], command_);
    const int error = errno;
    if (write(failure_sink, &error, sizeof(error)) < 0) _exit(126);
    _exit(127);
  }

  // Waits for a signal, a command or an end; false when it is time to kill everything.
  bool serve() {
    pollfd watched[] = {{kControlFd, POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {guardian_.get(), POLLIN, 0}};
    if (poll(watched, 3, -1) < 0) return errno == EINTR;
    if (watched[1].revents != 0) take_signals();
    if (watched[2].revents != 0) {
      report(ReaperEvent::Kind::kWatcherEnded, 0, 0);
      return false;
    }
    return watched[0].revents == 0 || take_command();
  }

  // A signal to the reaper is meant for the job: systemd, for example, signals every process of a service.
  void take_signals() {
    while (const int signal = signals_.take()) {
      if (signal == SIGCHLD) continue;
      report(ReaperEvent::Kind::kSignalled, 0, signal);
      terminate();
    }
    reap();
  }

  // False once no child is left.
  bool reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (ranks_[r].pid != pid || ranks_[r].has_ended) continue;
        ranks_[r].has_ended = true;
        report(ReaperEvent::Kind::kEnded, static_cast<int>(r), status);
      }
    }
    return pid == 0 || errno != ECHILD;
  }

  bool take_command() {
    ReaperCommand command{};
    if (recv(kControlFd, &command, sizeof(command), 0) <= 0) return false;  // the launcher has gone, or requests a kill
    if (command == ReaperCommand::kTerminate) terminate();
    return true;
  }

  // Only once: many programs finish their work at the first SIGTERM and die at the second.
  void terminate() {
    if (std::exchange(was_terminated_, true)) return;
    for (const Rank& rank : ranks_) {
      if (rank.has_ended) continue;
      kill(-rank.pid, SIGTERM);
      kill(-rank.pid, SIGCONT);  // a stopped process would never see the signal
    }
  }

  int first_rank_;
  char** command_;
  std::vector<Rank> ranks_;
  const SignalQueue& signals_;
  UniqueFd guardian_;
  bool was_terminated_ = false;
};

/// The reaper's parent: keeps the reaper running, and kills the remaining processes if the reaper cannot.
class Guardian {
 public:
  Guardian(pid_t reaper, const SignalQueue& signals) : reaper_(reaper), signals_(signals) {}

  int run() {
    pollfd watched[] = {{kControlFd, POLLRDHUP, 0}, {signals_.fd(), POLLIN, 0}};
    Deadline deadline = Deadline::never();
    while (!has_ended_ && !deadline.has_expired()) {
      if (poll(watched, 2, deadline.poll_timeout_ms()) < 0 && errno != EINTR) break;
      if (watched[1].revents != 0) take_signals();
      if (watched[0].revents == 0) continue;
      watched[0].fd = -1;  // the launcher has gone, or requests a kill
      deadline = Deadline::after(kReaperLimit);
    }
    kill_descendants(signals_, [this] { return reap(); });
    return 0;
  }

 private:
  void take_signals() {
    while (const int signal = signals_.take()) {
      if (signal != SIGCHLD) report(ReaperEvent::Kind::kSignalled, 0, signal);
    }
    reap();
  }

  // False once no child is left.
  bool reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
      if (pid != reaper_) continue;
      if (WIFSTOPPED(status)) {
        kill(reaper_, SIGCONT);  // if stopped, it would notice neither a rank's end nor the launcher's
        continue;
      }
      has_ended_ = true;
      if (status != 0) report(ReaperEvent::Kind::kWatcherEnded, 0, status);
    }
    return pid == 0 || errno != ECHILD;
  }

  pid_t reaper_;
  const SignalQueue& signals_;
  bool has_ended_ = false;
};

int run(int world_size, int first_rank, char** command) {
  for (int fd = kControlFd; fd < output_fd(world_size); ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
  const SignalQueue signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP});
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  const bool has_pipe = pipe2(ends, O_CLOEXEC) == 0;
  const pid_t reaper = has_pipe ? fork() : -1;
  if (reaper < 0) {
    report(ReaperEvent::Kind::kStartFailed, 0, errno);
    return 1;
  }
  UniqueFd guardian_end(ends[0]), guardian_alive(ends[1]);
  if (reaper == 0) {
    guardian_alive.reset();
    setpgid(0, 0);  // SIGKILL to the process group of one must not reach the other
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return Reaper(world_size, first_rank, command, signals, std::move(guardian_end)).run();
  }
  guardian_end.reset();
  for (int fd = output_fd(0); fd < output_fd(world_size); ++fd) close(fd);
  prctl(PR_SET_NAME, "lockstep_guard");  // nor SIGKILL to all processes of one name
  return Guardian(reaper, signals).run();
}

}  // namespace

int main(int argc, char** argv) {
  const int world_size = argc >= 4 ? std::atoi(argv[1]) : 0;
  if (world_size < 1) {
    std::fputs("lockstep_reaper: started by the launcher only (LOCAL_WORLD_SIZE FIRST_RANK PROGRAM ...)\n", stderr);
    return 2;
  }
  try {
    return run(world_size, std::atoi(argv[2]), argv + 3);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep_reaper: %s\n", error.what());
    return 1;
  }
}
