#pragma once
// The options of `lockstep launch` for logs, events and preemption; not for others.
#include <memory>
#include <optional>
#include <string>

#include "launch/launcher.hpp"
#include "launch/watching/http_server.hpp"

namespace lockstep {
class CommandLine;
}

namespace lockstep::tool {

// As typed.
struct LaunchLogOptions {
  std::string folder, events;
  std::optional<std::string> tee, redirects;
  std::string preempt_signal;
  int health_port = -1;  // below 0: no page
};

// Declares --log-dir, --tee, --redirects, --events, --preempt-signal and --health-port.
void add_log_options(CommandLine& app, LaunchLogOptions& options);

// The number of --preempt-signal; 0: none. Throws UsageError.
[[nodiscard]] int preempt_signal_of(const LaunchLogOptions& options);

// Fills in job.log and job.preempt_signal, and serves the health page, which is said on standard error, for as long as
// what is returned lives (null: none was asked for). `job.command` is known. Throws UsageError where options do not fit
// together, IoError where a port or file is not to be had.
[[nodiscard]] std::unique_ptr<launch::HttpServer> apply_log_options(const LaunchLogOptions& options,
                                                                    launch::JobOptions& job);

}  // namespace lockstep::tool
