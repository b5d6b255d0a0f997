#include "launch/hosts/host_agent.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "launch/hosts/agent_link.hpp"
#include "launch/hosts/own_pauses.hpp"

namespace lockstep::launch {
namespace {

constexpr std::size_t kMostOrderBytes = std::size_t{16} << 20;
constexpr int kMostSignal = 64;

std::optional<std::size_t> parse_number(std::string_view text, std::size_t most) {
  std::size_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && stop == text.data() + text.size() && !text.empty();
  return is_number && value <= most ? std::optional(value) : std::nullopt;
}

// Ranks must not inherit it, and a program that reads standard input must find it empty.
UniqueFd take_standard_input() {
  UniqueFd input(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));  // + 1: the first after the three
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!input.is_open() || !nothing.is_open() || dup2(nothing.get(), STDIN_FILENO) < 0)
    throw IoError("cannot take the order of a launcher from standard input", errno);
  return input;
}

}  // namespace

HostAgent::HostAgent() : input_(take_standard_input()), wake_up_(::eventfd(0, EFD_CLOEXEC)) {
  // Even under nohup, which ignores SIGHUP: that signal tells this process that the launcher has gone.
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  write_all(STDOUT_FILENO, concat(kAgentGreeting, "\n"), "standard output");
  std::size_t end_of_line = 0;
  while ((end_of_line = bytes_.find('\n')) == std::string::npos)
    if (!read_more()) throw Error("an agent is told what to do by `lockstep launch --hostfile`, which has gone");
  const auto size = parse_number(std::string_view(bytes_).substr(0, end_of_line), kMostOrderBytes);
  if (!size) throw FormatError("an agent is told what to do by `lockstep launch --hostfile`, not by a person");
  bytes_.erase(0, end_of_line + 1);  // with the line's end
  while (bytes_.size() < *size)
    if (!read_more()) throw Error("the launcher ended before it had said what to do");
  order_ = decode_order(std::string_view(bytes_).substr(0, *size));
  bytes_.erase(0, *size);
}

HostAgent::~HostAgent() {
  thread_.request_stop();
  ::eventfd_write(wake_up_.get(), 1);
}

void HostAgent::obey(std::chrono::milliseconds liveness) {
  // The thread must not receive signals: a thread that waits for one has blocked it, and other signals must end the
  // process.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this, liveness](const std::stop_token& stop) { watch(stop, liveness); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void HostAgent::report(const HostReport& report) const noexcept try {
  write_all(STDOUT_FILENO, encode(report, order_.mark) + "\n", "standard output");
} catch (const std::exception&) {  // the thread notices and reports that the launcher has gone
}

// Blocks. Returns false if the launcher has gone.
bool HostAgent::read_more() {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t bytes = ::read(input_.get(), buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes > 0) bytes_.append(buffer.data(), static_cast<std::size_t>(bytes));
    return bytes > 0;
  }
}

void HostAgent::watch(const std::stop_token& stop, std::chrono::milliseconds liveness) noexcept try {
  Deadline silence = Deadline::after(liveness);
  OwnPauses own_pauses(liveness);
  while (!stop.stop_requested()) {
    std::size_t end = 0;
    while ((end = bytes_.find('\n')) != std::string::npos) {
      take_line(bytes_.substr(0, end));
      bytes_.erase(0, end + 1);  // with the line's end
    }
    std::array<pollfd, 2> watched{{{input_.get(), POLLIN, 0}, {wake_up_.get(), POLLIN, 0}}};
    const Deadline next_step = silence.earliest(Deadline::after(heartbeat_interval(liveness)));
    ::poll(watched.data(), watched.size(), next_step.poll_timeout_ms());
    const auto now = Deadline::Clock::now();
    const bool was_stopped = own_pauses.note_step(now);
    if (watched[0].revents != 0 && !read_more()) return hang_up("the launcher has gone");
    if (watched[0].revents != 0 || was_stopped) {
      silence = Deadline::after(liveness);
    } else if (now >= silence.when()) {
      return hang_up(concat("no sign of life of the launcher for ", format_seconds(liveness)));
    }
  }
} catch (const std::exception& error) {
  Logger("launch").error(error.what());
  ::kill(::getpid(), SIGHUP);
}

void HostAgent::take_line(const std::string& line) const {
  if (!line.starts_with(kLauncherSignal)) return;  // a heartbeat
  const auto number = parse_number(std::string_view(line).substr(kLauncherSignal.size()), kMostSignal);
  if (number && *number > 0) ::kill(::getpid(), static_cast<int>(*number));
}

void HostAgent::hang_up(const std::string& why) const {
  Logger(concat("lockstep on ", order_.name)).error(concat(why, "; ending this host's ranks"));
  ::kill(::getpid(), SIGHUP);
}

}  // namespace lockstep::launch
