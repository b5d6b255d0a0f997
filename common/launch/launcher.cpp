#include "launch/launcher.hpp"

#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "launch/flight_summary.hpp"
#include "launch/job_folder.hpp"
#include "launch/reaper_process.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::launch {
namespace {

constexpr std::chrono::seconds kKillLimit{5};
constexpr std::size_t kShownCollectives = 2;
// What run_guarded() (base/command_line.hpp) ends a program with that cannot begin: its collectives tell nothing.
constexpr int kUsageExit = 2, kUnavailableExit = 77;
constexpr std::size_t kReportedCollectives = 10;  // on SIGUSR1
constexpr std::chrono::milliseconds kStuckOutputLimit{200};

/// While it lives, SIGINT, SIGTERM, SIGHUP and SIGUSR1 arrive through a descriptor, and SIGPIPE is an error of write().
class SignalScope {
 public:
  SignalScope() {
    sigemptyset(&watched_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&watched_, signal);
    pthread_sigmask(SIG_BLOCK, &watched_, &original_);
    fd_.reset(signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK));
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &original_pipe_);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
  ~SignalScope() {
    sigaction(SIGPIPE, &original_pipe_, nullptr);
    pthread_sigmask(SIG_SETMASK, &original_, nullptr);
  }

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] const sigset_t& original() const noexcept { return original_; }

  /// The next signal, or 0.
  [[nodiscard]] int take() const {
    signalfd_siginfo info{};
    return read(fd_.get(), &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t watched_{};
  sigset_t original_{};
  struct sigaction original_pipe_ {};
  UniqueFd fd_;
};

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? concat("signal ", signal) : concat("SIG", name);
}

std::string describe_end(int status) {
  if (!WIFSIGNALED(status)) return concat("exited with code ", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  std::string text = concat("was killed by ", signal_name(signal));
  if (signal == SIGKILL) return text + " (from outside; the kernel does so when memory runs out)";
  const char* meaning = sigdescr_np(signal);
  return meaning == nullptr ? text : concat(text, " (", meaning, ")");
}

// SIGKILL never follows from what another rank did; SIGABRT may.
bool was_killed_from_outside(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

OutputStyle fitting(OutputStyle wanted) {
  return wanted == OutputStyle::kFirstLive && isatty(STDOUT_FILENO) == 0 ? OutputStyle::kFirstPlain : wanted;
}

// Rank 0 writes to a pipe; without these it could not know that its output reaches a terminal, and how wide that is.
Variables terminal_variables() {
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  Variables variables = {{"LOCKSTEP_PROGRESS", "terminal"}};
  if (is_known) variables.emplace_back("COLUMNS", std::to_string(size.ws_col));
  return variables;
}

/// One run of run_job().
class Job {
 public:
  explicit Job(const JobOptions& options)
      : options_(options),
        merger_(options.world_size, fitting(options.style),
                [this](OutputStream stream, std::string_view text) { write_out(stream, text); }),
        reaper_(options.command, options.world_size, merged_environment(variables()), signals_.original()) {}

  JobResult run() {
    while (!reaper_.has_ended()) {
      wait();
      take_output();
      while (const auto event = reaper_.receive()) take_event(*event);
      while (const int signal = signals_.take()) take_signal(signal);
      if (deadline_.has_expired()) advance();
    }
    take_output();  // what the last rank wrote before it ended
    close_output();
    summarize();
    return result_;
  }

 private:
  [[nodiscard]] Variables variables() const {
    const std::string ranks = std::to_string(options_.world_size);
    Variables variables = {{"WORLD_SIZE", ranks},
                           {"LOCAL_WORLD_SIZE", ranks},
                           {"MASTER_ADDR", "127.0.0.1"},
                           {"MASTER_PORT", std::to_string(port_.number())},
                           {"LOCKSTEP_STORE", store_.address().text()},
                           {"LOCKSTEP_TOKEN", token_},
                           {"LOCKSTEP_GENERATION", "0"},
                           {"LOCKSTEP_FLIGHT_DIR", folder_.path().string()}};
    const auto add = [&variables](const Variables& more) {
      variables.insert(variables.end(), more.begin(), more.end());
    };
    add(thread_variables(options_.world_size, usable_cores()));
    if (fitting(options_.style) == OutputStyle::kFirstLive) add(terminal_variables());
    add(options_.variables);
    return variables;
  }

  enum class Phase { kRunning, kSettling, kTerminating, kKilling };

  void wait() {
    std::vector<pollfd> watched = {{reaper_.control_fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
    for_each_output([&](int, OutputStream, const UniqueFd& fd) {
      if (fd.is_open()) watched.push_back({fd.get(), POLLIN, 0});
    });
    poll(watched.data(), watched.size(), deadline_.poll_timeout_ms());
  }

  template <typename Visit>
  void for_each_output(const Visit& visit) {
    for (int rank = 0; rank < options_.world_size; ++rank) {
      for (const OutputStream stream : {OutputStream::kOut, OutputStream::kErr}) {
        visit(rank, stream, reaper_.output(rank, stream));
      }
    }
  }

  void take_output() {
    for_each_output([this](int rank, OutputStream stream, UniqueFd& fd) { take_output_of(rank, stream, fd); });
  }

  // A rank that writes without pause must not keep the launcher from its other work: a bounded number of reads.
  void take_output_of(int rank, OutputStream stream, UniqueFd& fd) {
    char buffer[16 * 1024];
    for (int reads = 0; fd.is_open() && reads < 8; ++reads) {
      const ssize_t bytes = read(fd.get(), buffer, sizeof(buffer));
      if (bytes > 0) {
        merger_.add(rank, stream, std::string_view(buffer, static_cast<std::size_t>(bytes)));
      } else if (bytes == 0) {
        merger_.close(rank, stream);
        fd.reset();
      } else if (errno != EINTR) {
        return;  // nothing there now
      }
    }
  }

  void close_output() {
    for_each_output([this](int rank, OutputStream stream, UniqueFd&) { merger_.close(rank, stream); });
  }

  void take_event(const ReaperEvent& event) {
    const int rank = event.local_rank;
    if (event.kind == ReaperEvent::Kind::kStartFailed) {
      fail(rank, concat("could not be started: ", options_.command.front(), ": ", strerror(event.detail)), 127);
      enter(Phase::kKilling, kKillLimit);
    } else if (event.kind == ReaperEvent::Kind::kEnded) {
      ++ended_;
      // All it wrote is in the pipes: shown before the line that says how it ended.
      for (const OutputStream stream : {OutputStream::kOut, OutputStream::kErr}) {
        take_output_of(rank, stream, reaper_.output(rank, stream));
      }
      if (exit_code_of(event.detail) != 0) fail(rank, describe_end(event.detail), exit_code_of(event.detail));
      if (was_killed_from_outside(event.detail)) blame(rank, describe_end(event.detail), exit_code_of(event.detail));
    }
  }

  // Nobody has sent a signal yet, so this rank's end is no consequence. The kernel takes a killed process apart before
  // it tells its parent; a peer that misses it may have ended with an error by then.
  void blame(int rank, const std::string& what, int exit_code) {
    if (phase_ != Phase::kSettling || is_stopped_by_signal_ || result_.failure->rank == rank) return;
    if (result_.exit_code >= 128) return;  // so was the first
    result_.exit_code = exit_code;
    result_.failure = RankFailure{rank, what, {}};
    folder_.note_first_failure(rank, what);
    say(concat("rank ", rank, " ", what, ", and that came first: it only took longer to end"));
  }

  void fail(int rank, const std::string& what, int exit_code) {
    if (phase_ != Phase::kRunning) return;  // a consequence of the first failure, or of a signal to the launcher
    result_.exit_code = exit_code;
    result_.failure = RankFailure{rank, what, {}};
    folder_.note_first_failure(rank, what);
    folder_.keep();
    const int others = options_.world_size - ended_;
    const std::string when = ended_ == 0 ? "" : concat(" ", format_seconds(started_.waited()), " after the start");
    say(concat("rank ", rank, " ", what, when,
               others > 0 ? concat("; ending the other ", others == 1 ? "rank" : "ranks") : ""));
    enter(Phase::kSettling, options_.settle);
  }

  // From the files, so that it needs nothing of a rank that hangs.
  void report() {
    const std::string collectives = flight_summary(folder_.path(), kReportedCollectives);
    say(collectives.empty() ? "SIGUSR1: no rank has entered a collective yet" : "SIGUSR1: where the ranks are:");
    if (!collectives.empty())
      merger_.announce(collectives.substr(0, collectives.size() - 1));  // without the last line end
  }

  void take_signal(int signal) {
    if (signal == SIGUSR1) return report();
    if (is_stopped_by_signal_) {
      say("killing all ranks");
      enter(Phase::kKilling, kKillLimit);
      return;
    }
    is_stopped_by_signal_ = true;
    if (phase_ != Phase::kRunning && phase_ != Phase::kSettling) return;
    if (!result_.failure) result_.exit_code = 128 + signal;
    say(concat(signal_name(signal), ": ending all ranks (once more kills them at once)"));
    enter(Phase::kTerminating, options_.grace);
  }

  // A phase has lasted its time.
  void advance() {
    if (phase_ == Phase::kSettling) {
      enter(Phase::kTerminating, options_.grace);
    } else if (phase_ == Phase::kTerminating) {
      enter(Phase::kKilling, kKillLimit);
    } else {
      throw IoError(concat("the ranks did not end within ", format_seconds(kKillLimit),
                           " of SIGKILL; they may wait in the kernel for a disk or a device"));
    }
  }

  void enter(Phase phase, std::chrono::milliseconds limit) {
    phase_ = phase;
    deadline_ = Deadline::after(limit);
    if (phase == Phase::kTerminating) reaper_.send(ReaperCommand::kTerminate);
    if (phase == Phase::kKilling) reaper_.send(ReaperCommand::kKill);
  }

  void summarize() {
    if (phase_ == Phase::kRunning && ended_ < options_.world_size) {
      result_.exit_code = 1;
      say("the process that watches the ranks (lockstep_reaper) was killed, and the ranks with it");
    }
    if (!result_.failure) return;
    RankFailure& failure = *result_.failure;
    failure.last_lines = merger_.last_lines(failure.rank);
    say(concat("first failure: rank ", failure.rank, " ", failure.what,
               failure.last_lines.empty() ? "; it printed nothing" : "; its last lines:"));
    for (const std::string& line : failure.last_lines) merger_.announce("  | " + line);
    if (result_.exit_code == kUsageExit || result_.exit_code == kUnavailableExit) return;
    const std::string collectives = flight_summary(folder_.path(), kShownCollectives);
    if (collectives.empty()) return;
    say("the last collectives of each rank (lockstep trace --last-failure shows more):");
    merger_.announce(collectives.substr(0, collectives.size() - 1));
  }

  void say(const std::string& text) { merger_.announce(options_.name + ": " + text); }

  // Waits while the reader of our output does not read, but neither past a signal nor for long once the job ends.
  void write_out(OutputStream stream, std::string_view text) {
    const int fd = stream == OutputStream::kOut ? STDOUT_FILENO : STDERR_FILENO;
    bool& is_lost = is_output_lost_[static_cast<std::size_t>(stream)];
    while (!text.empty() && !is_lost) {
      pollfd watched[] = {{fd, POLLOUT, 0}, {signals_.fd(), POLLIN, 0}};
      const int limit_ms = phase_ == Phase::kRunning ? -1 : static_cast<int>(kStuckOutputLimit.count());
      const int ready = poll(watched, 2, limit_ms);
      if (ready < 0 && errno == EINTR) continue;
      if (watched[0].revents == 0) {
        is_lost = phase_ != Phase::kRunning;
        return;
      }
      // A pipe that can be written takes PIPE_BUF bytes without blocking, more perhaps not.
      const ssize_t bytes = write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
      if (bytes > 0) text.remove_prefix(static_cast<std::size_t>(bytes));
      if (bytes < 0 && errno != EINTR && errno != EAGAIN) lose(stream);
    }
  }

  // The reader has gone (`| head`): nobody wants the job's output any more.
  void lose(OutputStream stream) {
    is_output_lost_[static_cast<std::size_t>(stream)] = true;
    if (stream != OutputStream::kOut || phase_ != Phase::kRunning) return;
    result_.exit_code = 128 + SIGPIPE;
    enter(Phase::kTerminating, options_.grace);
  }

  const JobOptions& options_;
  SignalScope signals_;  // before the store's thread, which inherits the blocked signals
  ReservedPort port_;
  std::string token_ = make_token();
  store::TcpStoreServer store_{net::SocketAddress{}, token_};
  JobFolder folder_;
  JobResult result_;
  Phase phase_ = Phase::kRunning;
  Deadline started_ = Deadline::never();
  Deadline deadline_ = Deadline::never();
  int ended_ = 0;
  bool is_stopped_by_signal_ = false;
  bool is_output_lost_[2] = {false, false};
  OutputMerger merger_;
  ReaperProcess reaper_;
};

}  // namespace

JobResult run_job(const JobOptions& options) {
  require(!options.command.empty(), "run_job: no command");
  require(options.world_size >= 1, "run_job: world_size is ", options.world_size, ", must be at least 1");
  return Job(options).run();
}

}  // namespace lockstep::launch
