#pragma once
/// @file
/// What the hosts of a launcher's list print. Internal to this module.
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

/// Passes what hosts print, and what their launcher says itself, on to standard output and error without waiting for
/// their readers. What several agents say alike is shown once. Thread safety: one thread.
class HostsOutput {
 public:
  /// @param name  Begins the launcher's own lines.
  explicit HostsOutput(const std::string& name);

  /// A host has printed a line. @param host  Its number. @param host_name  As the list has it.
  void show(std::size_t host, std::string_view host_name, OutputStream stream, std::string_view line);
  /// From now on, nothing that hosts print is shown: one message has said all.
  void mute() noexcept { is_muted_ = true; }
  /// Says a line of the launcher's own on standard error.
  void say(const std::string& text);

  /// More can be shown without more waiting in memory than should.
  [[nodiscard]] bool has_room() const noexcept;
  /// The reader of standard output has gone (`| head`).
  [[nodiscard]] bool is_lost() const noexcept { return queue_.is_lost(OutputStream::kOut); }

  /// Adds what poll() should watch so that flush() can go on.
  void watch(std::vector<pollfd>& watched) const;
  /// Writes what can be written without waiting.
  void flush();
  /// Writes all that waits, or ends at the deadline or at a signal other than SIGUSR1.
  void drain(const Deadline& deadline, const SignalScope& signals);

 private:
  std::string name_;
  HostLines lines_;
  OutputQueue queue_;
  bool is_muted_ = false;
};

}  // namespace lockstep::launch
