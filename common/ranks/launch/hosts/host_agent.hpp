#pragma once
/// @file
/// The agent's end of what host_order.hpp describes.
#include <chrono>
#include <string>
#include <thread>

#include "base/unique_fd.hpp"
#include "launch/hosts/host_order.hpp"

namespace lockstep::launch {

/// What a launcher on another host wants of this process. Make it before anything else happens: it takes standard
/// input, which nobody else may read, and writes to standard output. Thread safety: one thread.
class HostAgent {
 public:
  /// Greets the launcher and waits for its order.
  /// @throws Error  The launcher has gone. @throws FormatError  It speaks something else.
  HostAgent();
  HostAgent(const HostAgent&) = delete;
  HostAgent& operator=(const HostAgent&) = delete;
  ~HostAgent();

  /// What the launcher has ordered.
  [[nodiscard]] const HostOrder& order() const noexcept { return order_; }

  /// From now on, signals that the launcher passes on come to this process, and SIGHUP once the launcher has gone or
  /// has been silent for `liveness`.
  void obey(std::chrono::milliseconds liveness);

  /// Tells the launcher. Where it has gone, nobody.
  void report(const HostReport& report) const noexcept;

 private:
  [[nodiscard]] bool read_more();
  void watch(const std::stop_token& stop, std::chrono::milliseconds liveness) noexcept;
  void take_line(const std::string& line) const;
  void hang_up(const std::string& why) const;

  UniqueFd input_;     // was standard input
  UniqueFd wake_up_;   // of the thread, to stop
  std::string bytes_;  // read and not yet used
  HostOrder order_;
  std::jthread thread_;
};

}  // namespace lockstep::launch
