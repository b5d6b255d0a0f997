#include "launch/host_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/argument_vector.hpp"
#include "base/error.hpp"
#include "launch/spawn_plan.hpp"

namespace lockstep::launch {
namespace {

struct Pipe {
  UniqueFd read, write;
};

// Numbered 3 or higher, so that none of them is one of the three that the new process gets.
UniqueFd out_of_the_way(int fd) {
  const UniqueFd low(fd);
  UniqueFd moved(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));  // + 1: the first after them
  if (!moved.is_open()) throw IoError("cannot make a pipe to a host (ulimit -n raises their number)", errno);
  return moved;
}

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw IoError("cannot make a pipe to a host (ulimit -n raises their number)", errno);
  UniqueFd read = out_of_the_way(ends[0]);
  return {std::move(read), out_of_the_way(ends[1])};
}

}  // namespace

HostProcess::HostProcess(std::vector<std::string> command, const InheritedSignals& signals, Sink sink)
    : sink_(std::move(sink)) {
  Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();
  SpawnPlan plan;
  posix_spawn_file_actions_adddup2(plan.actions(), in.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(plan.actions(), out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(plan.actions(), err.write.get(), STDERR_FILENO);
  plan.set_apart(signals);
  const int error = posix_spawnp(&pid_, command.front().c_str(), plan.actions(), plan.attributes(),
                                 pointers_to(command).data(), environ);
  if (error != 0) throw IoError(concat("cannot start ", command.front()), error);
  process_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  input_ = std::move(in.write);
  outputs_[0].fd = std::move(out.read);
  outputs_[1].fd = std::move(err.read);
  for (const int fd : {input_.get(), outputs_[0].fd.get(), outputs_[1].fd.get()}) fcntl(fd, F_SETFL, O_NONBLOCK);
}

HostProcess::~HostProcess() {
  if (status_) return;
  signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void HostProcess::send(std::string_view bytes) {
  queued_ += bytes;
  write_input();
}

void HostProcess::signal(int number) const noexcept {
  if (!status_) ::kill(-pid_, number);
}

void HostProcess::watch(std::vector<pollfd>& watched, bool takes_output) const {
  if (!status_) watched.push_back({process_.get(), POLLIN, 0});
  if (input_.is_open() && !queued_.empty()) watched.push_back({input_.get(), POLLOUT, 0});
  for (const Output& output : outputs_)
    if (output.fd.is_open() && takes_output) watched.push_back({output.fd.get(), POLLIN, 0});
}

void HostProcess::advance(bool takes_output) {
  write_input();
  int status = 0;
  if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  if (takes_output || status_) {
    for (const OutputStream stream : {OutputStream::kOut, OutputStream::kErr}) take(stream);
  }
  if (!status_) return;
  // A process of its own that it leaves behind (ssh's ControlPersist) may hold its output open: nothing comes any more.
  for (Output& output : outputs_) {
    if (!output.held.empty()) sink_(&output == &outputs_[0] ? OutputStream::kOut : OutputStream::kErr, output.held);
    output = {};
  }
}

void HostProcess::take(OutputStream stream) {
  Output& output = outputs_[static_cast<std::size_t>(stream)];
  char buffer[16 * 1024];
  // A bounded number of reads: a rank that writes without pause must not keep the launcher from its other work.
  for (int reads = 0; output.fd.is_open() && reads < (status_ ? 4096 : 8); ++reads) {
    const ssize_t bytes = ::read(output.fd.get(), buffer, sizeof buffer);
    if (bytes == 0) output.fd.reset();
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return;
    output.held.append(buffer, static_cast<std::size_t>(bytes));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = output.held.find('\n', begin)) != std::string::npos; begin = end + 1)  // past it
      sink_(stream, std::string_view(output.held).substr(begin, end + 1 - begin));
    output.held.erase(0, begin);
    if (output.held.size() < OutputMerger::kLongestLine) continue;
    sink_(stream, output.held);
    output.held.clear();
  }
}

void HostProcess::write_input() {
  while (input_.is_open() && !queued_.empty()) {
    const ssize_t bytes = ::write(input_.get(), queued_.data(), queued_.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno != EAGAIN) input_.reset();  // it has ended, as status() will say
    if (bytes <= 0) return;
    queued_.erase(0, static_cast<std::size_t>(bytes));
  }
}

}  // namespace lockstep::launch
