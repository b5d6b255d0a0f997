// self_test: tests whether the ranks of a job can train together. `lockstep doctor --test` runs it, here or on each
// node.
#include "08_accelerate/process/self_test.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/terminal.hpp"
#include "comm/rendezvous.hpp"

using namespace lockstep;

namespace {

constexpr int kTimedOut = 124;  // as timeout(1); tells `lockstep doctor --test` that the job was slow, not broken

struct Options {
  std::string device;
  std::vector<std::string> backends;
  double limit_s = 50;
  std::filesystem::path out;
  bool says_verdict = false;
};

// Ends the process when time is up: a rank that waits in a system call or for a device has no other way out.
class TimeLimit {
 public:
  TimeLimit(double seconds, std::string what)
      : thread_([this, seconds, what = std::move(what)](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          const auto limit = std::chrono::duration<double>(seconds);
          if (ended_.wait_for(lock, stop, limit, [&] { return stop.stop_requested(); })) return;
          const std::string line = concat(what, ": not finished after ", seconds, " s\n");
          write_all(STDERR_FILENO, line, "standard error");
          _exit(kTimedOut);
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;  // last: it uses the other members
};

nlohmann::json to_json(const accelerate::SelfTestResult& result) {
  return {{"world_size", result.world_size}, {"hosts", result.hosts}, {"small_us", result.small_us}, {"bandwidth_gb_s", result.bandwidth_gb_s}, {"step_ms", result.step_ms}, {"alone_ms", result.alone_ms}, {"first_loss", result.first_loss}, {"last_loss", result.last_loss}, {"difference", result.difference}};
}

void print(const std::string& backend, const accelerate::SelfTestResult& result) {
  std::cout << backend << ": " << result.world_size << " ranks on " << result.hosts.size()
            << (result.hosts.size() == 1 ? " host" : " hosts") << "; all-reduce of 1 KiB " << with_digits(result.small_us, 0) << " us, of 16 MiB "
            << with_digits(result.bandwidth_gb_s, 2) << " GB/s; step " << with_digits(result.step_ms, 1)
            << " ms, one rank " << with_digits(result.alone_ms, 1) << " ms; loss " << with_digits(result.first_loss, 3)
            << " to " << with_digits(result.last_loss, 3) << ", as on one rank\n"
            << std::flush;
}

int run(Options options) {
  const TimeLimit limit(options.limit_s, "self_test");
  const comm::JobContext job = comm::rendezvous("env://");
  if (options.device.empty()) options.device = environment::get("LOCKSTEP_DEVICE").value_or("cpu");
  if (options.backends.empty()) {
    const bool is_cuda = Device::parse(options.device).type == DeviceType::kCuda;
    options.backends = is_cuda ? std::vector<std::string>{"nccl"} : std::vector<std::string>{"star", "ring", "auto"};
  }
  nlohmann::json results;
  for (const std::string& backend : options.backends) {
    const auto result = accelerate::run_self_test({.device = options.device, .backend = backend}, job);
    results[backend] = to_json(result);
    if (job.rank == 0) print(backend, result);
  }
  if (job.rank == 0 && options.says_verdict)
    std::cout << "These " << job.world_size << " ranks can train: they give the losses of one.\n";
  if (job.rank == 0 && !options.out.empty()) write_file(options.out, dump_json(results, 2) + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Trains a tiny model on all ranks of this job, and compares with one rank.",
                  environment::get("LOCKSTEP_PROGRAM").value_or(""));
  Options options;
  app.add_option("--device", options.device, "cpu, emulated or cuda (if left out what the launcher has chosen)")
      .without_default();
  app.add_option("--backend", options.backends, "auto, star, ring, shared_memory, nccl, gloo or mpi, or several (star, ring and auto; nccl on GPUs)")
      .without_default();
  app.add_option("--limit", options.limit_s, "Seconds after which it gives up").check(positive_seconds());
  app.add_option("--out", options.out, "Where rank 0 writes the results as JSON").type_name("FILE").without_default();
  app.add_flag("--verdict", options.says_verdict, "Rank 0 says in a last line that the ranks can train");
  return run_main(app, argc, argv, [&] { return run(options); });
}
