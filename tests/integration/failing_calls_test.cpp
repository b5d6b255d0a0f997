// A training run under the launcher goes on from a checkpoint, and one system call of it fails: of the launcher, of a
// rank, or of what rank 0 does for a checkpoint. Each such run either ends with an error that names what happened, or
// trains as if nothing had: it is never silent about what it has lost, never loses a good checkpoint, and never fails
// because a log could not be written. The calls are those of tests/support/failing_calls.plan: some of them, or with
// LOCKSTEP_FAILING_CALLS=all failing_calls_test all, one line each and a summary.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "checkpoint/checkpoint.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/event_file.hpp"
#include "support/failing_call.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;
using test::FailingCall;
using test::Finished;

namespace {

constexpr int kSteps = 8, kSavedSteps = 4;  // of the whole run, and of what has been trained before each trial
constexpr std::size_t kKept = 2;
constexpr std::chrono::minutes kLimit{2};  // of a run that takes a second; the machine may be busy

/// A run that was killed after step 5, and has checkpoints of the steps 2 and 4.
class HalfARun {
 public:
  HalfARun() {
    std::string text;
    for (int i = 0; i < 150; ++i) text += concat("Ring after ring, rank after rank, number ", i % 9, ".\n");
    write_file(folder_ / "text.txt", text);
    const std::vector<std::string> options{"--data",           (folder_ / "text.txt").string(),
                                           "--steps",          std::to_string(kSteps),
                                           "--batch-size",     "6",
                                           "--sample-tokens",  "0",
                                           "--validate-every", "4",
                                           "--save-every",     "2",
                                           "--keep-last",      std::to_string(kKept),
                                           "--check-replicas", "0",
                                           "--tensorboard"};
    const Finished finished = train(folder_.path(), options, {}, {"--inject", "rank=1 step=6 kill"});
    if (finished.exit_code != 128 + 9) throw Error("the first half did not go as planned: " + finished.err);
  }

  /// Trains on in a copy. @param place  A new folder.
  [[nodiscard]] Finished resume_in(const fs::path& place,
                                   std::vector<std::pair<std::string, std::string>> variables) const {
    fs::copy(folder_ / "runs", place / "runs", fs::copy_options::recursive);
    return train(place, {"--resume"}, std::move(variables), {"--log-dir", (place / "logs").string()});
  }

 private:
  static Finished train(const fs::path& place, const std::vector<std::string>& options,
                        std::vector<std::pair<std::string, std::string>> variables,
                        const std::vector<std::string>& launch_options) {
    std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc", "2", "--grace", "20"};
    command.insert(command.end(), launch_options.begin(), launch_options.end());
    command.insert(command.end(), {"--", test::built_program("train_gpt_ddp"), "--out", (place / "runs").string()});
    command.insert(command.end(), options.begin(), options.end());
    fs::create_directories(place / "state");
    fs::permissions(place / "state", fs::perms::owner_all);
    variables.insert(variables.end(), {{"OMP_NUM_THREADS", "1"}, {"LOCKSTEP_STATE_DIR", (place / "state").string()}});
    return test::Subprocess(command, variables).wait(kLimit);
  }

  test::TemporaryFolder folder_;
};

/// The files of a finished run.
struct Traces {
  std::string weights;                      ///< model.safetensors of the last step; empty: there is none.
  std::map<int, double> losses;             ///< By step, of metrics.jsonl.
  std::map<int, float> shown;               ///< The same, of the event files.
  std::size_t event_files = 0;              ///< Their number.
  std::vector<std::string> events;          ///< Names, in order.
  std::vector<std::size_t> lines_of_logs;   ///< Of the ranks' logs.
  std::vector<std::string> good, problems;  ///< Checkpoints that verify, and what is wrong with others.
};

std::vector<nlohmann::json> json_lines(const fs::path& file) {
  std::vector<nlohmann::json> found;
  if (!fs::exists(file)) return found;
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_discarded()) found.push_back(std::move(json));
  }
  return found;
}

void read_checkpoints(Traces& traces, const fs::path& run) {
  for (const fs::path& each : checkpoint::CheckpointFolder(run::checkpoints_of(run)).list()) {
    try {
      checkpoint::verify(each);
      traces.good.push_back(each.filename().string());
      if (checkpoint::load_state(each).at("step") == kSteps) traces.weights = read_file(each / "model.safetensors");
    } catch (const Error& error) {
      traces.problems.push_back(error.what());
    }
  }
}

Traces traces_in(const fs::path& place) {
  Traces traces;
  const auto run = run::latest_run(place / "runs");
  if (!run) return traces;
  read_checkpoints(traces, *run);
  for (const nlohmann::json& line : json_lines(*run / "metrics.jsonl")) {
    if (line.contains("step") && line.contains("loss")) traces.losses[line["step"]] = line["loss"];
  }
  for (const auto& entry : fs::directory_iterator(*run))
    traces.event_files += entry.path().filename().string().starts_with("events.out.tfevents.") ? 1 : 0;
  for (const auto& [step, scalars] : test::read_event_files(*run))
    traces.shown[static_cast<int>(step)] = scalars.at("loss");
  for (const nlohmann::json& event : json_lines(place / "logs" / "events.jsonl")) {
    const std::string name = event.at("event");
    // Ranks start and end in any order, but all of them do.
    traces.events.push_back(event.contains("rank") ? concat(name, " ", event["rank"].dump()) : name);
  }
  std::ranges::sort(traces.events);
  for (const auto& entry : fs::recursive_directory_iterator(place / "logs")) {
    if (entry.path().extension() != ".log") continue;
    const std::string text = read_file(entry.path());
    traces.lines_of_logs.push_back(static_cast<std::size_t>(std::ranges::count(text, '\n')));
  }
  std::ranges::sort(traces.lines_of_logs);
  return traces;
}

// Files that a run lacks although it ended with 0; an undisturbed run has them.
std::string missing_in(const Traces& traces, const Traces& whole) {
  std::string missing;
  if (traces.weights != whole.weights) missing += "the last step's weights; ";
  if (traces.losses != whole.losses) missing += "losses; ";
  if (traces.shown != whole.shown) missing += "losses in TensorBoard; ";
  if (traces.events != whole.events) missing += "events; ";
  if (traces.lines_of_logs.size() != whole.lines_of_logs.size()) missing += "logs; ";
  return missing;
}

bool contains_any(const std::string& text, std::initializer_list<const char*> parts) {
  return std::ranges::any_of(parts, [&](const char* part) { return text.find(part) != std::string::npos; });
}

// Logs, reports and what is removed at the end: nothing that training needs.
bool is_of_a_log(const std::string& what) {
  return contains_any(
      what, {"/logs/", "metrics.jsonl", "tfevents", "report", "trace_rank", "rank_0.json", "rank_1.json", "pipe:"});
}

/// Where a trial went wrong; empty: nowhere. @param what  The library's line about the call that failed.
std::string problem_of(const FailingCall& call, const std::string& what, const Finished& finished, const Traces& traces,
                       const Traces& whole) {
  const std::string words = finished.out + finished.err;
  const std::string missing = missing_in(traces, whole);
  const bool is_named = call.is_named_in(words);
  std::string problem;
  if (finished.exit_code == -1) problem += "it hangs; ";
  if (contains_any(words, {"terminate called", "SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE"}))
    problem += "it crashed; ";
  if (finished.exit_code != 0 && !is_named) problem += "it failed without naming the error; ";
  if (finished.exit_code == 0 && !missing.empty() && !is_named)
    problem += "it is silent about what is lost: " + missing;
  if (finished.exit_code == 0 && traces.weights != whole.weights) problem += "it ended well without its last step; ";
  if (finished.exit_code != 0 && call.error == "EINTR") problem += "a signal is no reason to fail; ";
  if (finished.exit_code != 0 && call.call == "unlink") problem += "it failed because something could not be removed; ";
  const bool has_begun = words.find("step  5/8") != std::string::npos || words.find("step 5/8") != std::string::npos;
  if (finished.exit_code != 0 && is_of_a_log(what) && (call.call != "open" || has_begun))
    problem += "it failed because of a log; ";
  if (traces.good.size() < kKept || traces.good.back() < concat("step_0000000", kSavedSteps))
    problem += concat("a good checkpoint is lost: ", traces.good.size(), " are left; ");
  return problem;
}

// A run that hangs has no exit code.
Finished resume_with(const FailingCall& call, const HalfARun& half, const fs::path& place) try {
  return half.resume_in(place, call.variables(place / "log"));
} catch (const TimeoutError& error) {
  return {.exit_code = -1, .out = "", .err = error.what()};
}

}  // namespace

TEST_CASE("a system call that fails ends a training run with its name, or changes nothing",
          "[integration][checkpoint][failing_calls]") {
  const HalfARun half;
  const test::TemporaryFolder undisturbed;
  const Finished reference = half.resume_in(undisturbed.path(), {});
  INFO(reference.err);
  REQUIRE(reference.exit_code == 0);
  const Traces whole = traces_in(undisturbed.path());
  REQUIRE_FALSE(whole.weights.empty());
  REQUIRE(whole.losses.size() == kSteps);
  CHECK(whole.event_files == 2);  // of rank 0: before and after the kill
  for (const auto& [step, loss] : whole.losses) CHECK(whole.shown.at(step) == static_cast<float>(loss));
  REQUIRE(whole.good.size() == kKept);
  const auto calls = test::chosen_calls(test::planned_calls({"launcher", "rank0", "rank1", "saver"}), 24);
  REQUIRE_FALSE(calls.empty());
  std::size_t happened = 0, unharmed = 0;
  for (const FailingCall& call : calls) {
    const test::TemporaryFolder place;
    const Finished finished = resume_with(call, half, place.path());
    const std::string what = fs::exists(place / "log") ? read_file(place / "log") : "";
    happened += what.empty() ? 0 : 1;
    unharmed += !what.empty() && finished.exit_code == 0 ? 1 : 0;
    const std::string problem = problem_of(call, what, finished, traces_in(place.path()), whole);
    if (test::are_many_calls_chosen())
      std::cout << call.text() << ": "
                << (!problem.empty() ? problem
                    : what.empty()   ? "did not happen"
                                     : "ok")
                << ", exit code " << finished.exit_code << "  " << what << (what.empty() ? "\n" : "") << std::flush;
    CAPTURE(call.text(), what, finished.exit_code, finished.out, finished.err);
    CHECK(problem == "");
  }
  if (test::are_many_calls_chosen())
    std::cout << calls.size() << " calls, of which " << happened << " were made; " << unharmed << " runs ended well\n";
  // How often something is called varies a little: of 20 calls, at most one may not be made.
  CHECK(happened * 20 >= calls.size() * 19);
}
