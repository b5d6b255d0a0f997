#pragma once
/// @file
/// The process through which a launcher runs an agent on a host: ssh, or the agent itself if it is this host.
#include <poll.h>
#include <sys/types.h>

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"
#include "launch/local/output_merger.hpp"
#include "launch/local/signal_queue.hpp"

namespace lockstep::launch {

/// A process with pipes to its standard input, output and error. No call blocks. It has its own process group, so that
/// Ctrl-C in a terminal does not reach it. Single-threaded.
class HostProcess {
 public:
  /// Gets each line, with its end (a last one may lack it).
  using Sink = std::function<void(OutputStream, std::string_view line)>;

  /// Starts `command`. @throws IoError  It cannot be started.
  HostProcess(std::vector<std::string> command, const InheritedSignals& signals, Sink sink);
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;
  /// Kills it if it still runs.
  ~HostProcess();

  /// Queues bytes for its standard input.
  void send(std::string_view bytes);
  /// Closes its standard input at once: an agent takes that as the end of the launcher.
  void close_input() noexcept { input_.reset(); }
  /// Sends a signal to its process group.
  void signal(int number) const noexcept;

  /// Adds the descriptors that poll() should watch. @param takes_output  Whether to read its output now.
  void watch(std::vector<pollfd>& watched, bool takes_output) const;
  /// Forwards its output, and writes the queued input. @param takes_output  As for watch().
  void advance(bool takes_output);
  /// The status from waitpid(), after it has ended and all its output has been forwarded.
  [[nodiscard]] std::optional<int> status() const noexcept { return has_output_ended() ? status_ : std::nullopt; }

 private:
  struct Output {
    UniqueFd fd;
    std::string held;  // an incomplete line
  };

  void take(OutputStream stream);
  void write_input();
  [[nodiscard]] bool has_output_ended() const noexcept {
    return !outputs_[0].fd.is_open() && !outputs_[1].fd.is_open();
  }

  Sink sink_;
  pid_t pid_ = -1;
  UniqueFd process_;  // readable once it has ended
  UniqueFd input_;
  std::string queued_;
  std::array<Output, 2> outputs_;
  std::optional<int> status_;
};

}  // namespace lockstep::launch
