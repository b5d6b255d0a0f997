#include "launch/local/reaper_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/process.hpp"
#include "net/descriptor_limit.hpp"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

// A copy of `fd` numbered `lowest` or higher, closed on exec: away from the numbers that the reaper expects.
UniqueFd moved_above(UniqueFd fd, int lowest) {
  UniqueFd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, lowest));
  if (!moved.is_open()) throw IoError("cannot pass a descriptor to the ranks (ulimit -n raises their number)", errno);
  return moved;
}

}  // namespace

fs::path find_reaper() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (error)
    throw IoError("what ranks start is found in /proc, which is not there: mount -t proc proc /proc", error.value());
  for (const fs::path& candidate :
       {here / "lockstep_reaper", here / "../bin/lockstep_reaper", fs::path(LOCKSTEP_REAPER)}) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw IoError(concat("the program lockstep_reaper, which watches over ranks, is not in ", here.string(),
                       "; build it: cmake --build --preset cpu --target lockstep_reaper"));
}

ReaperProcess::ReaperProcess(const std::vector<std::string>& command, int world_size,
                             const std::vector<std::string>& environment, const InheritedSignals& signals,
                             int first_rank)
    : world_size_(world_size) {
  constexpr std::uint64_t kOthers = 64;  // files, standard streams, later connections of the store
  // Two pipes per rank, each with two ends until the reaper has started.
  net::require_descriptors(4 * static_cast<std::uint64_t>(world_size) + kOthers,
                           concat("the launcher of ", world_size, " ranks"));
  const int lowest = output_fd(world_size);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw IoError("cannot make a socket pair", errno);
  control_.reset(pair[0]);
  const UniqueFd reaper_control = moved_above(UniqueFd(pair[1]), lowest);
  std::vector<Pipe> pipes;
  for (int i = 0; i < 2 * world_size; ++i) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw IoError("cannot make a pipe (ulimit -n raises their number)", errno);
    UniqueFd read(ends[0]);
    fcntl(read.get(), F_SETFL, O_NONBLOCK);
    pipes.push_back({std::move(read), moved_above(UniqueFd(ends[1]), lowest)});
  }
  spawn(command, environment, signals, first_rank, reaper_control.get(), pipes);
  for (Pipe& pipe : pipes) outputs_.push_back(std::move(pipe.read));
}

void ReaperProcess::spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                          const InheritedSignals& signals, int first_rank, int reaper_control,
                          const std::vector<Pipe>& pipes) {
  const std::string program = find_reaper().string();
  ProcessStart start{.command = {program, std::to_string(world_size_), std::to_string(first_rank)},
                     .environment = environment,
                     .descriptors = {{kControlFd, reaper_control}},
                     .empty_streams = {STDIN_FILENO, STDOUT_FILENO},
                     .leads_group = true,
                     .signals = signals};
  start.command.insert(start.command.end(), command.begin(), command.end());
  for (std::size_t i = 0; i < pipes.size(); ++i)
    start.descriptors.push_back({output_fd(0) + static_cast<int>(i), pipes[i].write.get()});
  pid_ = start_process(std::move(start));
}

ReaperProcess::~ReaperProcess() {
  resume();
  control_.reset();  // the reaper now kills all remaining processes and ends
  const Deadline deadline = Deadline::after(end_limit_);
  while (waitpid(pid_, nullptr, WNOHANG) == 0 && !deadline.has_expired()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

UniqueFd& ReaperProcess::output(int rank, OutputStream stream) {
  return outputs_[static_cast<std::size_t>(2 * rank + static_cast<int>(stream))];
}

std::optional<ReaperEvent> ReaperProcess::receive() {
  ReaperEvent event;
  const ssize_t bytes = recv(control_.get(), &event, sizeof(event), MSG_DONTWAIT);
  if (bytes == static_cast<ssize_t>(sizeof(event))) return event;
  const bool is_empty = bytes < 0 && (errno == EAGAIN || errno == EINTR);
  if (!is_empty) has_ended_ = true;
  return std::nullopt;
}

void ReaperProcess::terminate() noexcept {
  constexpr ReaperCommand kCommand = ReaperCommand::kTerminate;
  resume();
  if (!has_ended_) send(control_.get(), &kCommand, sizeof(kCommand), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Not a packet, which only the reaper would read: its guardian notices this too.
void ReaperProcess::kill() noexcept {
  resume();
  shutdown(control_.get(), SHUT_WR);
}

// A stopped process would not react to commands. The guardian does the same for the reaper.
void ReaperProcess::resume() const noexcept { ::kill(pid_, SIGCONT); }

}  // namespace lockstep::launch
