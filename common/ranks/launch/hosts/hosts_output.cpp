#include "launch/hosts/hosts_output.hpp"

#include <signal.h>
#include <unistd.h>

#include "base/error.hpp"

namespace lockstep::launch {

HostsOutput::HostsOutput(const std::string& name) : name_(name), lines_(name), queue_(STDOUT_FILENO, STDERR_FILENO) {}

void HostsOutput::show(std::size_t host, std::string_view host_name, OutputStream stream, std::string_view line) {
  if (is_muted_) return;
  if (stream == OutputStream::kOut || lines_.is_news(host, host_name, line)) queue_.add(stream, line);
}

void HostsOutput::say(const std::string& text) { queue_.add(OutputStream::kErr, concat(name_, ": ", text, "\n")); }

bool HostsOutput::has_room() const noexcept {
  return !queue_.is_full(OutputStream::kOut) && !queue_.is_full(OutputStream::kErr);
}

void HostsOutput::watch(std::vector<pollfd>& watched) const {
  for (const OutputStream stream : {OutputStream::kOut, OutputStream::kErr})
    watched.push_back({queue_.waiting_fd(stream), POLLOUT, 0});
}

void HostsOutput::flush() {
  queue_.flush();
  while (const auto problem = queue_.take_problem()) say(*problem);
}

void HostsOutput::drain(const Deadline& deadline, const SignalScope& signals) {
  for (queue_.flush(); !queue_.is_empty() && !deadline.has_expired(); queue_.flush()) {
    std::vector<pollfd> watched{{signals.fd(), POLLIN, 0}};
    watch(watched);
    ::poll(watched.data(), watched.size(), deadline.poll_timeout_ms());
    if (watched.front().revents != 0 && signals.take() != SIGUSR1) return;
  }
  flush();
  queue_.flush();
}

}  // namespace lockstep::launch
