#include "tool/self_test.hpp"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/state_folder.hpp"
#include "base/terminal.hpp"
#include "base/timing.hpp"
#include "base/unique_fd.hpp"
#include "launch/launcher.hpp"
#include "tool/configuration.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSelfTest = "self_test";
constexpr int kUnavailable = 77;
constexpr int kTimedOut = 124;  // exit code of the program: not finished in time
// The largest share of the total time for one job.
constexpr double kShareOfOne = 0.36;
constexpr double kLeastSeconds = 10;  // for ranks to join and to make progress

// Redirects the output of this process and its children to a file in memory.
class CapturedOutput {
 public:
  CapturedOutput() : file_(memfd_create("self_test", MFD_CLOEXEC)) {
    if (!file_.is_open()) throw IoError("making a file in memory", errno);
    std::cout << std::flush;
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      saved_[static_cast<std::size_t>(fd) - 1].reset(dup(fd));
      dup2(file_.get(), fd);
    }
  }
  ~CapturedOutput() {
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(saved_[static_cast<std::size_t>(fd) - 1].get(), fd);
  }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  [[nodiscard]] std::string text() const { return read_file(concat("/proc/self/fd/", file_.get())); }

 private:
  UniqueFd file_;
  std::array<UniqueFd, 2> saved_;
};

class ResultFile {
 public:
  ResultFile() {
    std::string name = (temporary_folder() / "lockstep_doctor_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw IoError("making " + name, errno);
    folder_ = name;
  }
  ~ResultFile() {
    std::error_code ignored;  // a leftover in /tmp does no harm
    fs::remove_all(folder_, ignored);
  }
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;
  [[nodiscard]] fs::path path() const { return folder_ / "result.json"; }

 private:
  fs::path folder_;
};

// The first line in which a rank reports an error: "[rank 1] self_test: ...".
std::string first_complaint(const std::string& output) {
  const std::string mark = concat(kSelfTest, ": ");
  for (std::size_t begin = 0, end = 0; begin < output.size(); begin = end + 1) {
    end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    if (line.find(mark) != std::string::npos) return line;
  }
  const std::size_t last = output.find_last_not_of('\n');
  if (last == std::string::npos) return "the job printed nothing";
  const std::size_t begin = output.rfind('\n', last);
  return output.substr(begin == std::string::npos ? 0 : begin + 1, last - (begin == std::string::npos ? -1 : begin));
}

void read_result(const fs::path& file, const std::string& backend, SelfTestOutcome& outcome) {
  const nlohmann::json result = parse_json(read_file(file)).at(backend);
  outcome.small_us = result.at("small_us");
  outcome.bandwidth_gb_s = result.at("bandwidth_gb_s");
  outcome.step_ms = result.at("step_ms");
  outcome.alone_ms = result.at("alone_ms");
}

std::string verdict(const SelfTestOutcome& outcome) {
  if (outcome.exit_code == 0) return "works";
  if (outcome.exit_code == kTimedOut) return "slow";
  return outcome.exit_code == kUnavailable ? "not here" : "FAILS";
}

void add_row(TextTable& table, const SelfTestRun& run, const SelfTestOutcome& outcome) {
  const std::string ranks = std::to_string(run.world_size);
  if (outcome.exit_code != 0) {
    table.add({run.title, ranks, verdict(outcome)});
    return;
  }
  table.add({run.title, ranks, verdict(outcome), with_digits(outcome.small_us, 0),
             with_digits(outcome.bandwidth_gb_s, 2), with_digits(outcome.step_ms, 1),
             with_digits(outcome.alone_ms, 1)});
}

// Slow enough for a warning: GPT-2's smallest model takes more than five seconds to send its gradients, half a GB.
constexpr double kSlowGbPerSecond = 0.1;

void note_slow(const SelfTestRun& run, const SelfTestOutcome& outcome) {
  if (outcome.exit_code != 0 || outcome.bandwidth_gb_s >= kSlowGbPerSecond) return;
  std::cout << run.title << " is slow: the gradients of GPT-2 124m would take "
            << with_digits(0.5 / outcome.bandwidth_gb_s, 0) << " s a step. Is the machine busy?\n";
}

std::string conclusion(int world_size, bool can_train, bool is_slow, double limit_s) {
  if (!can_train) return "This machine cannot train as it is: see the lines above.";
  if (is_slow)
    return concat("This machine is too slow, or too busy, to tell in ", with_digits(limit_s, 0),
                  " s. Allow it more: ", tool_as_typed(), " doctor --test --limit ", with_digits(10 * limit_s, 0));
  return concat("This machine can train: ", world_size, world_size == 1 ? " rank" : " ranks",
                " give the losses of one, with every required backend.");
}

}  // namespace

std::vector<SelfTestRun> self_test_runs(int world_size) {
  const int gpus = gpu_count();
  std::vector<SelfTestRun> runs = {
      {.title = "star, TCP",
       .backend = "star",
       .device = "cpu",
       .remedy = "TCP on the loopback interface does not work: look at the interfaces above, and at the firewall"},
      {.title = "ring, TCP",
       .backend = "ring",
       .device = "cpu",
       .remedy = "TCP on the loopback interface does not work: look at the interfaces above, and at the firewall"},
      {.title = "shared memory",
       .backend = "shared_memory",
       .device = "cpu",
       .remedy = "shared memory does not work here; --backend ring trains without it"}};
  if (LOCKSTEP_HAS_GLOO) {
    runs.push_back({.title = "gloo",
                    .backend = "gloo",
                    .device = "cpu",
                    .remedy = "Gloo needs a host name that resolves; training works without it",
                    .is_extra = true});
  }
  for (SelfTestRun& run : runs) run.world_size = world_size;
  if (LOCKSTEP_HAS_CUDA && gpus > 0) {
    runs.push_back({.title = "nccl, GPUs",
                    .backend = "nccl",
                    .device = "cuda",
                    .remedy = "look at the GPU's lines above; NCCL_DEBUG=INFO says more",
                    .world_size = std::min(world_size, gpus)});
  }
  return runs;
}

SelfTestOutcome run_self_test(const SelfTestRun& run, double limit_s) {
  const ResultFile result;
  launch::JobOptions job;
  job.command = {find_program(find_project(), kSelfTest).string(),
                 "--backend",
                 run.backend,
                 "--device",
                 run.device,
                 "--limit",
                 with_digits(limit_s, 1),
                 "--out",
                 result.path().string()};
  job.world_size = run.world_size;
  job.grace = std::chrono::seconds(1);
  const std::string patience = with_digits(std::max(kLeastSeconds, limit_s / 2), 0);
  job.variables = {{"LOCKSTEP_JOIN_SECONDS", patience}, {"LOCKSTEP_PROGRESS_SECONDS", patience}};
  SelfTestOutcome outcome;
  std::string output;
  {
    const CapturedOutput captured;
    const launch::JobResult result_of_job = launch::run_job(job);
    outcome.exit_code = result_of_job.exit_code;
    outcome.was_interrupted = outcome.exit_code > 128 && !result_of_job.failure;
    output = captured.text();
  }
  if (outcome.exit_code == 0)
    read_result(result.path(), run.backend, outcome);
  else
    outcome.last_line = first_complaint(output);
  return outcome;
}

int run_self_tests(int world_size, double limit_s) {
  std::cout << "self-test: a tiny model on " << world_size << (world_size == 1 ? " rank" : " ranks") << ", at most "
            << with_digits(limit_s, 0) << " s\n"
            << std::flush;
  const Stopwatch stopwatch;
  TextTable table;
  table.add({"self-test", "ranks", "result", "1 KiB, us", "16 MiB, GB/s", "step, ms", "one rank, ms"});
  std::vector<std::pair<SelfTestRun, SelfTestOutcome>> done;
  bool can_train = true, is_slow = false;
  for (const SelfTestRun& run : self_test_runs(world_size)) {
    const double left = limit_s - stopwatch.seconds();
    SelfTestOutcome outcome{.exit_code = kTimedOut, .last_line = "there was no time left for it"};
    if (left > 1) outcome = run_self_test(run, std::min(left, kShareOfOne * limit_s));
    if (outcome.was_interrupted) return outcome.exit_code;
    if (outcome.exit_code == kTimedOut)
      is_slow = is_slow || !run.is_extra;
    else if (outcome.exit_code != 0 && !run.is_extra)
      can_train = false;
    add_row(table, run, outcome);
    done.emplace_back(run, outcome);
  }
  std::cout << "\n" << table.text();
  for (const auto& [run, outcome] : done) {
    note_slow(run, outcome);
    if (outcome.exit_code == 0) continue;
    std::cout << run.title << ": " << outcome.last_line << "\n  "
              << (outcome.exit_code == kTimedOut ? "nothing seems broken: the machine is slow, or busy" : run.remedy)
              << "\n";
  }
  std::cout << "\n" << conclusion(world_size, can_train, is_slow, limit_s) << "\n";
  return can_train && !is_slow ? 0 : 1;
}

void join_self_test(double limit_s) {
  const ProgramVariables limits = {
      {"LOCKSTEP_JOIN_SECONDS", environment::get("LOCKSTEP_JOIN_SECONDS").value_or("30")},
      {"LOCKSTEP_PROGRESS_SECONDS", environment::get("LOCKSTEP_PROGRESS_SECONDS").value_or("20")},
      {"LOCKSTEP_PROGRAM", "lockstep doctor"}};
  become({find_program(find_project(), kSelfTest).string(), "--limit", with_digits(limit_s, 0), "--verdict"}, limits);
}

}  // namespace lockstep::tool
