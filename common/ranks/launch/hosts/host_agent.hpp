#pragma once
/// @file
/// The agent's end of the protocol in host_order.hpp.
#include <chrono>
#include <string>
#include <thread>

#include "base/unique_fd.hpp"
#include "launch/hosts/host_order.hpp"

namespace lockstep::launch {

/// The connection to a launcher on another host. Construct it before anything else: it takes over standard input, which
/// no other code may read, and writes to standard output. Thread safety: one thread.
class HostAgent {
 public:
  /// Greets the launcher and waits for its order.
  /// @throws Error  The launcher has gone. @throws FormatError  Its message is not an order.
  HostAgent();
  HostAgent(const HostAgent&) = delete;
  HostAgent& operator=(const HostAgent&) = delete;
  ~HostAgent();

  [[nodiscard]] const HostOrder& order() const noexcept { return order_; }

  /// From now on, this process gets the signals that the launcher forwards, and SIGHUP when the launcher has gone or
  /// has been silent for `liveness`.
  void obey(std::chrono::milliseconds liveness);

  /// Sends a report to the launcher; does nothing if it has gone.
  void report(const HostReport& report) const noexcept;

 private:
  [[nodiscard]] bool read_more();
  void watch(const std::stop_token& stop, std::chrono::milliseconds liveness) noexcept;
  void take_line(const std::string& line) const;
  void hang_up(const std::string& why) const;

  UniqueFd input_;     // formerly standard input
  UniqueFd wake_up_;   // stops the thread
  std::string bytes_;  // read but not yet processed
  HostOrder order_;
  std::jthread thread_;
};

}  // namespace lockstep::launch
