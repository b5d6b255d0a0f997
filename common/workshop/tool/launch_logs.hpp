#pragma once
// The options of `lockstep launch` for logs, events and preemption. Internal to this module.
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
  int health_port = -1;  // below 0: no health page
};

// Declares --log-dir, --tee, --redirects, --events, --preempt-signal and --health-port.
void add_log_options(CommandLine& app, LaunchLogOptions& options);

// The signal number given to --preempt-signal; 0: none. Throws UsageError.
[[nodiscard]] int preempt_signal_of(const LaunchLogOptions& options);

// Fills in job.log and job.preempt_signal, and serves the health page, announced on standard error, for the lifetime of
// the returned server (null: not requested). `job.command` must be set. Throws UsageError for incompatible options,
// IoError if a port or file is unavailable.
[[nodiscard]] std::unique_ptr<launch::HttpServer> apply_log_options(const LaunchLogOptions& options,
                                                                    launch::JobOptions& job);

}  // namespace lockstep::tool
