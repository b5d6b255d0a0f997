#include "exercise_tool/watched_training.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <thread>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/process.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kPollInterval = 50ms;
constexpr auto kSignalPause = 1500ms;  // after this, a launcher takes a second SIGINT for a new press of Ctrl-C
constexpr auto kEndLimit = 15s;        // more than a launcher needs to kill its ranks

// Grows with each step that a run logs.
std::uintmax_t logged_bytes(const fs::path& runs) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (const auto& run : fs::directory_iterator(runs, error)) {
    const std::uintmax_t own = fs::file_size(run.path() / "metrics.jsonl", error);
    if (!error) bytes += own;
  }
  return bytes;
}

// The child's exit code, or nothing if it still runs at the deadline.
std::optional<int> wait_until(pid_t pid, const Deadline& deadline) {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) return exit_code_of(status);
    if (ended < 0 && errno != EINTR) throw IoError("waiting for a training program", errno);
    if (deadline.has_expired()) return std::nullopt;
    std::this_thread::sleep_for(kPollInterval);
  }
}

// Nothing: it stands still.
std::optional<int> wait_while_it_trains(pid_t pid, const WatchedTraining& training) {
  if (!training.patience) return wait_for_process(pid);
  for (std::uintmax_t logged = logged_bytes(training.runs);;) {
    if (const auto exit_code = wait_until(pid, Deadline::after(*training.patience))) return exit_code;
    const std::uintmax_t now = logged_bytes(training.runs);
    if (now == logged) return std::nullopt;
    logged = now;
  }
}

int end_training(pid_t pid) {
  ::kill(pid, SIGUSR1);
  if (const auto exit_code = wait_until(pid, Deadline::after(kSignalPause))) return *exit_code;
  for (int press = 0; press < 2; ++press) {  // the first asks the ranks to end, the second kills them
    ::kill(pid, SIGINT);
    if (const auto exit_code = wait_until(pid, Deadline::after(kSignalPause))) return *exit_code;
  }
  if (const auto exit_code = wait_until(pid, Deadline::after(kEndLimit))) return *exit_code;
  ::kill(pid, SIGKILL);
  return wait_for_process(pid);
}

}  // namespace

TrainingEnd run_watched(const WatchedTraining& training) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t pid =
      start_process({.command = training.command, .folder = training.folder, .empty_streams = {STDIN_FILENO}});
  const std::optional<int> exit_code = wait_while_it_trains(pid, training);
  return {.exit_code = exit_code ? *exit_code : end_training(pid),
          .has_stood_still = !exit_code,
          .duration = std::chrono::steady_clock::now() - begin};
}

}  // namespace lockstep::exercise
