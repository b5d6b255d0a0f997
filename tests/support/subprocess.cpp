#include "support/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <thread>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/process.hpp"
#include "base/processes.hpp"

namespace lockstep::test {
namespace {

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::map<std::string, std::string> merged;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    merged[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  for (const auto& [name, value] : variables) merged[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : merged) {
    if (!value.empty()) lines.push_back(name + "=" + value);
  }
  return lines;
}

// Also true for a process that only waits to be reaped.
bool is_gone(pid_t pid) {
  const char state = read_process_state(pid).state;
  return state == 'X' || state == 'Z';
}

}  // namespace

Subprocess::Subprocess(std::vector<std::string> command,
                       const std::vector<std::pair<std::string, std::string>>& variables) {
  Pipe out = make_pipe(), err = make_pipe();
  out_ = std::move(out.read_end);
  err_ = std::move(err.read_end);
  for (const UniqueFd* fd : {&out_, &err_}) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  pid_ = start_process({.command = std::move(command),
                        .environment = environment_with(variables),
                        .descriptors = {{STDOUT_FILENO, out.write_end.get()}, {STDERR_FILENO, err.write_end.get()}},
                        .empty_streams = {STDIN_FILENO}});
}

Subprocess::~Subprocess() { kill_it(); }

void Subprocess::kill_it() noexcept {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
}

void Subprocess::send_signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

bool Subprocess::read_some(int timeout_ms) {
  pollfd watched[] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};  // poll ignores a closed one, -1
  if (poll(watched, 2, timeout_ms) <= 0) return false;
  if (watched[0].revents != 0) read_available(out_, finished_.out);
  if (watched[1].revents != 0) read_available(err_, finished_.err);
  return true;
}

bool Subprocess::wait_for_output(const std::string& text, std::chrono::milliseconds limit) {
  const Deadline deadline = Deadline::after(limit);
  while (true) {
    if (finished_.out.find(text) != std::string::npos || finished_.err.find(text) != std::string::npos) return true;
    if (!out_.is_open() && !err_.is_open()) return false;
    if (deadline.has_expired()) return false;
    read_some(deadline.poll_timeout_ms());
  }
}

Finished Subprocess::wait(std::chrono::milliseconds limit) {
  const Deadline deadline = Deadline::after(limit);
  int status = 0;
  while (true) {
    const bool is_over = waitpid(pid_, &status, WNOHANG) == pid_;
    // Processes that it left behind may hold the pipes open: after its end, read only available data.
    while ((out_.is_open() || err_.is_open()) && read_some(is_over ? 0 : 10)) continue;
    if (is_over) break;
    if (!out_.is_open() && !err_.is_open()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (deadline.has_expired()) {
      kill_it();
      throw TimeoutError(
          concat("a program still ran after ", format_seconds(limit), "\n", finished_.out, finished_.err));
    }
  }
  pid_ = -1;
  finished_.exit_code = exit_code_of(status);
  return finished_;
}

bool signal_process(pid_t pid, int signal) {
  require(pid > 1, "signal ", signal, " for process ", pid);
  if (kill(pid, signal) == 0) return true;
  if (errno != ESRCH) throw IoError(concat("cannot signal process ", pid), errno);
  return false;
}

Finished run_program(std::vector<std::string> command,
                     const std::vector<std::pair<std::string, std::string>>& variables) {
  return Subprocess(std::move(command), variables).wait();
}

std::string built_program(const std::string& name) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path beside = here / name;
  return (std::filesystem::exists(beside) ? beside : here.parent_path() / "bin" / name).string();
}

std::vector<pid_t> wait_until_gone(std::vector<pid_t> pids, std::chrono::milliseconds limit) {
  const Deadline deadline = Deadline::after(limit);
  while (true) {
    std::erase_if(pids, [](pid_t pid) { return is_gone(pid); });
    if (pids.empty() || deadline.has_expired()) return pids;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace lockstep::test
