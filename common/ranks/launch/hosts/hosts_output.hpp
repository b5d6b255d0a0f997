#pragma once
/// @file
/// The output of the hosts of a launcher's list. Internal to this module.
#include <poll.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "launch/hosts/host_lines.hpp"
#include "launch/local/output_queue.hpp"
#include "launch/local/signal_scope.hpp"

namespace lockstep::launch {

/// Forwards the output of hosts and of their launcher to standard output and error without waiting for their readers.
/// Identical lines of several agents are shown once. Thread safety: one thread.
class HostsOutput {
 public:
  /// @param name  Begins the launcher's own lines.
  explicit HostsOutput(const std::string& name);

  /// A host has printed a line. @param host  Its number. @param host_name  As in the list.
  void show(std::size_t host, std::string_view host_name, OutputStream stream, std::string_view line);
  /// Stops showing output of hosts, because one message has said everything.
  void mute() noexcept { is_muted_ = true; }
  /// Prints a line of the launcher to standard error.
  void say(const std::string& text);

  /// Whether the queued output is below its limit.
  [[nodiscard]] bool has_room() const noexcept;
  /// The reader of standard output has gone (`| head`).
  [[nodiscard]] bool is_lost() const noexcept { return queue_.is_lost(OutputStream::kOut); }

  /// Adds the descriptors that poll() should watch for flush().
  void watch(std::vector<pollfd>& watched) const;
  /// Writes as much as possible without waiting.
  void flush();
  /// Writes all queued output; stops at the deadline or at a signal other than SIGUSR1.
  void drain(const Deadline& deadline, const SignalScope& signals);

 private:
  std::string name_;
  HostLines lines_;
  OutputQueue queue_;
  bool is_muted_ = false;
};

}  // namespace lockstep::launch
