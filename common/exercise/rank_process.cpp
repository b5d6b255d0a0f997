#include "exercise/rank_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/argument_vector.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "exercise/trial_layout.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

constexpr int kLowestSource = 100;  // above every number that a process is given, so that no dup2() closes a source
constexpr std::size_t kMostOutput = 64 << 10;

// posix_spawn's descriptions, freed at the end of the scope.
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

std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> lines = variables;
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"})
    if (const auto value = environment::get(name)) lines.push_back(concat(name, "=", *value));
  return lines;
}

UniqueFd moved_above(int fd) {
  UniqueFd moved(::fcntl(fd, F_DUPFD_CLOEXEC, kLowestSource));
  if (!moved.is_open()) throw IoError("cannot pass a descriptor to a rank (ulimit -n raises their number)", errno);
  return moved;
}

// The process and all that it has started, as far as /proc shows it.
std::vector<pid_t> with_descendants(pid_t pid) {
  std::vector<pid_t> all = {pid};
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::error_code ignored;
    for (const auto& task : fs::directory_iterator(concat("/proc/", all[i], "/task"), ignored)) {
      std::ifstream children(task.path() / "children");
      for (pid_t child = 0; children >> child;) all.push_back(child);
    }
  }
  return all;
}

// Fields of /proc/.../stat from the third on: the name before may hold blanks.
std::istringstream stat_fields(const fs::path& folder) {
  std::ifstream file(folder / "stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return std::istringstream(end == std::string::npos ? "" : text.substr(end + 1));
}

}  // namespace

RankProcess::RankProcess(std::vector<std::string> command, const std::vector<std::string>& variables,
                         const std::vector<PassedFd>& passed) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw IoError("cannot make a pipe", errno);
  output_pipe_.reset(pipe[0]);
  const UniqueFd output_end(pipe[1]);
  ::fcntl(output_pipe_.get(), F_SETFL, O_NONBLOCK);

  SpawnPlan plan;
  std::vector<UniqueFd> sources;
  const auto pass = [&](int fd, int number) {
    sources.push_back(moved_above(fd));
    posix_spawn_file_actions_adddup2(&plan.actions, sources.back().get(), number);
  };
  posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pass(output_end.get(), STDOUT_FILENO);
  pass(output_end.get(), STDERR_FILENO);
  for (const PassedFd& one : passed) pass(one.fd->get(), one.number);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> lines = environment_with(variables);
  const int error = ::posix_spawnp(&pid_, command.front().c_str(), &plan.actions, &plan.attributes,
                                   pointers_to(command).data(), pointers_to(lines).data());
  if (error != 0) {
    pid_ = -1;
    throw IoError(concat("cannot start ", command.front()), error);
  }
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      has_ended_(other.has_ended_),
      end_(other.end_),
      output_pipe_(std::move(other.output_pipe_)),
      output_(std::move(other.output_)),
      first_output_(std::move(other.first_output_)),
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
  ::kill(-pid_, SIGKILL);  // children that stay in the group, too, also where the process itself has ended
  if (!has_ended_) {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
    has_ended_ = true;
  }
  pid_ = -1;
}

void RankProcess::signal_innermost(int signal) const noexcept {
  if (pid_ <= 1 || has_ended_) return;
  ::kill(with_descendants(pid_).back(), signal);
}

std::int64_t RankProcess::processor_milliseconds() const {
  if (pid_ <= 1) return 0;
  std::int64_t ticks = 0;
  for (const pid_t pid : with_descendants(pid_)) {
    std::istringstream fields = stat_fields(concat("/proc/", pid));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;  // utime and stime are the 14th and the 15th of all
    std::int64_t user = 0, system = 0;
    fields >> user >> system;
    ticks += user + system;
  }
  return ticks * 1000 / ::sysconf(_SC_CLK_TCK);
}

std::int64_t RankProcess::waiting_milliseconds() const {
  if (pid_ <= 1) return 0;
  std::int64_t nanoseconds = 0;
  for (const pid_t pid : with_descendants(pid_)) {
    std::ifstream fields(concat("/proc/", pid, "/schedstat"));  // nanoseconds computed, nanoseconds waited, slices
    std::int64_t computed = 0, waited = 0;
    if (fields >> computed >> waited) nanoseconds += waited;
  }
  return nanoseconds / 1'000'000;
}

bool RankProcess::is_runnable() const {
  if (pid_ <= 1) return false;
  for (const pid_t pid : with_descendants(pid_)) {
    std::error_code ignored;
    for (const auto& task : fs::directory_iterator(concat("/proc/", pid, "/task"), ignored)) {
      std::string state;
      stat_fields(task.path()) >> state;
      if (state == "R" || state == "D") return true;
    }
  }
  return false;
}

void RankProcess::read_output() {
  char piece[8192];
  while (output_pipe_.is_open()) {
    const ssize_t count = ::read(output_pipe_.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // nothing there now
    if (count == 0) return output_pipe_.reset();
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
