#include "launch/hosts/host_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/process.hpp"

namespace lockstep::launch {

HostProcess::HostProcess(std::vector<std::string> command, const InheritedSignals& signals, Sink sink)
    : sink_(std::move(sink)) {
  Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();
  pid_ = start_process({.command = std::move(command),
                        .descriptors = {{STDIN_FILENO, in.read_end.get()},
                                        {STDOUT_FILENO, out.write_end.get()},
                                        {STDERR_FILENO, err.write_end.get()}},
                        .leads_group = true,
                        .signals = signals});
  process_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  input_ = std::move(in.write_end);
  outputs_[0].fd = std::move(out.read_end);
  outputs_[1].fd = std::move(err.read_end);
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
  // A child that it leaves behind (ssh's ControlPersist) may keep its output open, but writes nothing more.
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
    if (bytes < 0 && errno != EAGAIN) input_.reset();  // it has ended; status() will report it
    if (bytes <= 0) return;
    queued_.erase(0, static_cast<std::size_t>(bytes));
  }
}

}  // namespace lockstep::launch
