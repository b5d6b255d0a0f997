#include "exercise/rank_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/process.hpp"
#include "base/processes.hpp"
#include "exercise/trial_layout.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOutput = 64 << 10;

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> lines = variables;
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"})
    if (const auto value = environment::get(name)) lines.push_back(concat(name, "=", *value));
  return lines;
}

}  // namespace

RankProcess::RankProcess(std::vector<std::string> command, const std::vector<std::string>& variables,
                         const std::vector<PassedDescriptor>& passed) {
  Pipe pipe = make_pipe();
  output_pipe_ = std::move(pipe.read_end);
  ::fcntl(output_pipe_.get(), F_SETFL, O_NONBLOCK);
  ProcessStart start{.command = std::move(command),
                     .environment = environment_with(variables),
                     .descriptors = {{STDOUT_FILENO, pipe.write_end.get()}, {STDERR_FILENO, pipe.write_end.get()}},
                     .empty_streams = {STDIN_FILENO},
                     .leads_group = true,
                     .signals = InheritedSignals()};
  start.descriptors.insert(start.descriptors.end(), passed.begin(), passed.end());
  pid_ = start_process(std::move(start));
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      has_ended_(other.has_ended_),
      end_(other.end_),
      output_pipe_(std::move(other.output_pipe_)),
      output_(std::move(other.output_)),
      first_output_(std::move(other.first_output_)),
      printed_bytes_(other.printed_bytes_),
      has_printed_(other.has_printed_) {}

RankProcess::~RankProcess() { kill(); }

bool RankProcess::has_ended() {
  if (has_ended_ || pid_ <= 0) return true;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  has_ended_ = true;
  if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end_.exit_code = WEXITSTATUS(status);
  return true;
}

void RankProcess::kill() noexcept {
  if (pid_ <= 1) return;
  ::kill(-pid_, SIGKILL);  // also kills children in the group after the process itself has ended
  if (!has_ended_) {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
    has_ended_ = true;
  }
  pid_ = -1;
}

void RankProcess::signal_innermost(int signal) const noexcept {
  if (pid_ <= 1 || has_ended_) return;
  ::kill(family_of(pid_).back(), signal);
}

std::int64_t RankProcess::processor_milliseconds() const {
  if (pid_ <= 1) return 0;
  std::int64_t ticks = 0;
  for (const pid_t pid : family_of(pid_)) {
    const ProcessState state = read_process_state(pid);
    ticks += state.user_ticks + state.kernel_ticks;
  }
  return ticks * 1000 / ::sysconf(_SC_CLK_TCK);
}

std::int64_t RankProcess::waiting_milliseconds() const {
  if (pid_ <= 1) return 0;
  std::int64_t nanoseconds = 0;
  for (const pid_t pid : family_of(pid_)) {
    std::ifstream fields(concat("/proc/", pid, "/schedstat"));  // nanoseconds computed, nanoseconds waited, slices
    std::int64_t computed = 0, waited = 0;
    if (fields >> computed >> waited) nanoseconds += waited;
  }
  return nanoseconds / 1'000'000;
}

bool RankProcess::is_runnable() const {
  if (pid_ <= 1) return false;
  for (const pid_t pid : family_of(pid_)) {
    for (const fs::path& thread : threads_of(pid)) {
      const char state = read_process_state(thread).state;
      if (state == 'R' || state == 'D') return true;
    }
  }
  return false;
}

void RankProcess::read_output() {
  constexpr std::uint64_t kMostAtOnce = 1 << 20;
  const std::uint64_t end = printed_bytes_ + kMostAtOnce;
  char piece[8192];
  while (output_pipe_.is_open() && printed_bytes_ < end) {
    const ssize_t count = ::read(output_pipe_.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // no data yet
    if (count == 0) return output_pipe_.reset();
    printed_bytes_ += static_cast<std::uint64_t>(count);
    output_.append(piece, static_cast<std::size_t>(count));
    take_mark();
    if (output_.size() > 2 * kMostOutput) output_.erase(0, output_.size() - kMostOutput);
  }
}

void RankProcess::take_mark() {
  constexpr std::string_view kMark = kSandboxMark;
  if (has_printed_ || output_.size() < kMark.size()) return;
  has_printed_ = true;
  if (!output_.starts_with(kMark)) return;
  first_output_ = kMark;
  output_.erase(0, kMark.size());
}

std::string output_of(const std::vector<std::string>& command) {
  try {
    RankProcess process(command, {}, {});
    for (int i = 0; i < 500 && !process.has_ended(); ++i) {
      ::poll(nullptr, 0, 10);
      process.read_output();
    }
    process.read_output();
    return process.output();
  } catch (const IoError&) {
    return "";  // not installed
  }
}

}  // namespace lockstep::exercise
