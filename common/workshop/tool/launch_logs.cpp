#include "tool/launch_logs.hpp"

#include <filesystem>
#include <iostream>
#include <memory>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/option_checks.hpp"
#include "base/preemption.hpp"
#include "launch/watching/job_log.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

launch::StreamChoice choice(const char* option, const std::optional<std::string>& text) {
  if (!text) return {};
  if (const auto chosen = launch::StreamChoice::parse(*text)) return *chosen;
  throw UsageError(concat(option, " ", *text, ": give 1 (standard output), 2 (standard error), 3 (both) or 0 for all ",
                          "ranks, or one for each local rank: 0:3,1:2"));
}

std::optional<launch::LogOptions> log_options(const LaunchLogOptions& options, const std::string& program) {
  if (options.folder.empty()) {
    if (!options.tee && !options.redirects) return std::nullopt;
    throw UsageError(concat(options.tee ? "--tee" : "--redirects", " writes files: give --log-dir as well"));
  }
  const bool is_plain = !options.tee && !options.redirects;
  return launch::LogOptions{.folder = options.folder,
                            .job = launch::job_name(program),
                            .tee = is_plain ? launch::StreamChoice::all() : choice("--tee", options.tee),
                            .redirects = choice("--redirects", options.redirects)};
}

}  // namespace

void add_log_options(CommandLine& app, LaunchLogOptions& options) {
  app.add_option("--log-dir,--log_dir", options.folder,
                 "Keep what ranks print: FOLDER/JOB/attempt_0/RANK/stdout.log and stderr.log. Both are also shown, "
                 "unless --tee or --redirects say otherwise. Events go to FOLDER/events.jsonl")
      .type_name("FOLDER")
      .without_default();
  app.add_option("--tee,-t", options.tee,
                 "Streams that are written to their file and shown: 1 (standard output), 2 (standard error), 3 (both) "
                 "or 0, or by local rank: 0:3,1:2")
      .type_name("STREAMS")
      .without_default();
  app.add_option("--redirects,-r", options.redirects, "Streams that are only written to their file; as --tee")
      .type_name("STREAMS")
      .without_default();
  app.add_option("--events", options.events,
                 "Write a line of JSON for each event of the job (start, end of a rank, "
                 "failure, signal, end) to this file")
      .type_name("FILE")
      .without_default();
  app.add_option("--preempt-signal,--preempt_signal", options.preempt_signal,
                 concat("A signal that asks the job to make room, as SIGTERM does: ranks finish their step, save, and "
                        "exit with code ",
                        kRequeueExitCode, ", as the launcher then does. SIGUSR2 fits Slurm's --signal=B:USR2@60"))
      .type_name("SIGNAL")
      .without_default();
  app.add_option("--health-port,--health_port", options.health_port,
                 "Serve http://127.0.0.1:PORT/healthz and /metrics (Prometheus' text format) while the job runs: step, "
                 "last collective and its age, exposed communication, memory of each rank; 0 picks a free port")
      .check(whole_number(0, 65535))
      .type_name("PORT")
      .without_default();
}

int preempt_signal_of(const LaunchLogOptions& options) {
  const std::string& text = options.preempt_signal;
  if (text.empty()) return 0;
  if (const auto signal = parse_preempt_signal(text)) return *signal;
  throw UsageError(concat("--preempt-signal ", text, ": give SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU or SIGRTMIN+N"));
}

std::unique_ptr<launch::HttpServer> apply_log_options(const LaunchLogOptions& options, launch::JobOptions& job) {
  const auto logs = log_options(options, job.command.front());
  const fs::path events = !options.events.empty() ? fs::path(options.events)
                          : logs                  ? logs->folder / "events.jsonl"
                                                  : fs::path();
  job.log = std::make_shared<launch::JobLog>(events, logs);
  job.preempt_signal = preempt_signal_of(options);
  if (options.health_port < 0) return nullptr;
  const auto page = std::make_shared<launch::HealthPage>();
  job.log->show_on(page);
  auto server = std::make_unique<launch::HttpServer>(options.health_port,
                                                     [page](const std::string& path) { return page->answer(path); });
  std::cerr << "lockstep: health page at http://127.0.0.1:" << server->port() << "/healthz, metrics at /metrics\n";
  return server;
}

}  // namespace lockstep::tool
