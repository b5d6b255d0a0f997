// lockstep_reaper: the parent of the ranks of one host. It lives exactly as long as they do, and nothing that they
// started outlives it: not when the launcher is killed, not when a rank starts processes and ends.
//
// It has one thread and is a program of its own, so that fork() is safe here whatever the launcher's process does,
// and so that the kernel's "signal me when my parent dies" (which means the parent's thread) has a lasting parent.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "launch/descendants.hpp"
#include "launch/reaper_protocol.hpp"

namespace {

using lockstep::UniqueFd;
using namespace lockstep::launch;

struct Rank {
  pid_t pid = -1;
  bool has_ended = true;
};

class Reaper {
 public:
  Reaper(int world_size, int first_rank, char** command)
      : first_rank_(first_rank), command_(command), ranks_(static_cast<std::size_t>(world_size)) {
    for (int fd = kControlFd; fd < output_fd(world_size); ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&watched, signal);
    sigprocmask(SIG_BLOCK, &watched, &original_mask_);
    signals_.reset(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }

  int run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!start(static_cast<int>(r))) break;
    }
    for (int fd = output_fd(0); fd < output_fd(static_cast<int>(ranks_.size())); ++fd) close(fd);
    while (std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return !rank.has_ended; })) {
      if (!serve()) break;
    }
    kill_everything();
    return 0;
  }

 private:
  void report(ReaperEvent::Kind kind, int local_rank, int detail) const {
    const ReaperEvent event{kind, local_rank, detail};
    send(kControlFd, &event, sizeof(event), MSG_NOSIGNAL);  // a launcher that is gone is noticed by serve()
  }

  bool start(int local_rank) {
    int failure_pipe[2];  // closed by a successful exec, else it carries errno
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

  bool report_failed_start(int local_rank, int error) const {
    report(ReaperEvent::Kind::kStartFailed, local_rank, error);
    return false;
  }

  // In the child, between fork and exec.
  [[noreturn]] void become_rank(int local_rank, pid_t reaper, int failure_sink) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != reaper) _exit(127);  // the reaper died before the line above took effect
    setpgid(0, 0);                        // a rank and what it starts can be signalled as one
    sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
    dup2(output_fd(local_rank), STDOUT_FILENO);
    dup2(output_fd(local_rank) + 1, STDERR_FILENO);
    setenv("RANK", std::to_string(first_rank_ + local_rank).c_str(), 1);
    setenv("LOCAL_RANK", std::to_string(local_rank).c_str(), 1);
    execvp(command_[0], command_);
    const int error = errno;
    if (write(failure_sink, &error, sizeof(error)) < 0) _exit(126);
    _exit(127);
  }

  // Waits for a signal or a command; false when it is time to kill everything.
  bool serve() {
    pollfd watched[] = {{kControlFd, POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    if (poll(watched, 2, -1) < 0) return errno == EINTR;
    if (watched[1].revents != 0 && !take_signals()) return false;
    return watched[0].revents == 0 || take_command();
  }

  bool take_signals() {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo != SIGCHLD) return false;  // somebody wants the reaper gone
    }
    reap();
    return true;
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
    if (recv(kControlFd, &command, sizeof(command), 0) <= 0) return false;  // the launcher is gone
    if (command == ReaperCommand::kKill) return false;
    for (const Rank& rank : ranks_) {
      if (rank.has_ended) continue;
      kill(-rank.pid, SIGTERM);
      kill(-rank.pid, SIGCONT);  // a stopped process would never see the signal
    }
    return true;
  }

  // As subreaper this process inherits whatever its descendants leave behind. So once it has no child, it has no
  // descendant either.
  void kill_everything() {
    while (reap()) {
      for (const pid_t pid : descendants_of(getpid())) kill(pid, SIGKILL);
      pollfd watched{signals_.get(), POLLIN, 0};
      poll(&watched, 1, 10);  // a process forked during the walk is met on the next one
      signalfd_siginfo info{};
      while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) continue;
    }
  }

  int first_rank_;
  char** command_;
  std::vector<Rank> ranks_;
  sigset_t original_mask_{};
  UniqueFd signals_;
};

}  // namespace

int main(int argc, char** argv) {
  const int world_size = argc >= 4 ? std::atoi(argv[1]) : 0;
  if (world_size < 1) {
    std::fputs("lockstep_reaper: started by the launcher only (LOCAL_WORLD_SIZE FIRST_RANK PROGRAM ...)\n", stderr);
    return 2;
  }
  return Reaper(world_size, std::atoi(argv[2]), argv + 3).run();
}
