// The results of a run's steps, alone and as rank 0 of a group whose other ranks the test plays.
#include "run/run.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "comm/objects.hpp"
#include "data/sampler.hpp"
#include "optim/sgd.hpp"
#include "run/metrics.hpp"
#include "run/stop_signal.hpp"
#include "run/training_state.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

run::RunOptions small_options(const std::filesystem::path& folder) {
  run::RunOptions options;
  options.task = "text";
  options.output.folder = folder / "runs";
  options.batch_size = 12;
  options.steps = 3;
  return options;
}

data::Batch batch_of(std::int64_t samples) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(samples));
  std::iota(ids.begin(), ids.end(), 100);
  return {Tensor::zeros({samples, 4}, DType::kInt32), Tensor::zeros({samples, 4}, DType::kInt32),
          Tensor::from(std::span<const std::int64_t>(ids), {samples})};
}

/// Captures standard output while it lives.
class CapturedOutput {
 public:
  CapturedOutput() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~CapturedOutput() { std::cout.rdbuf(before_); }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

/// Runs `rank_0` with a run of two or more ranks, and `other_rank` on the others once they have heard of the run's
/// folder.
/// @return  What each rank has thrown; empty: nothing.
std::vector<std::string> run_as_rank_0(const std::function<void(comm::ProcessGroup&)>& rank_0,
                                       const std::function<void(comm::ProcessGroup&)>& other_rank, int world_size = 2) {
  std::vector<std::string> messages;
  for (const test::RankOutcome& outcome : test::run_ranks(world_size, [&](comm::JobContext context) {
         const int rank = context.rank;
         const auto group = ring::make_shared_memory_process_group(std::move(context));
         if (rank == 0) return rank_0(*group);
         (void)comm::broadcast_text(*group, "", 0);
         other_rank(*group);
       }))
    messages.push_back(outcome.message());
  return messages;
}

// Rank 1's contribution in each step: its wish to stop, its tokens, by rank the time without waiting (ms), by rank the
// memory (MiB).
void add_rank_1(comm::ProcessGroup& group, bool stops, int steps) {
  for (int step = 0; step < steps; ++step) {
    std::vector<double> values{stops ? 1.0 : 0.0, 20, 0, 1e9, 0, 5000};
    group.all_reduce(comm::host_buffer(std::span(values))).synchronize();
  }
}

const run::RunSummary kFacts{
    .parameters = 10, .training_samples = 100, .validation_samples = 10, .tokens_per_sample = 4};

}  // namespace

TEST_CASE("signals ask a run to stop, however often they come, and an ignored one stays ignored", "[run]") {
  for (const int signal : {SIGTERM, SIGHUP}) {
    const run::StopSignal stop;
    CHECK_FALSE(stop.was_received());
    std::raise(signal);
    std::raise(signal);  // from the launcher, and from what signals all processes of a service
    CHECK(stop.was_received());
  }
  const auto before = std::signal(SIGHUP, SIG_IGN);  // nohup
  {
    const run::StopSignal stop;
    std::raise(SIGHUP);
    CHECK_FALSE(stop.was_received());
  }
  CHECK(std::signal(SIGHUP, before) == SIG_IGN);
}

TEST_CASE("SIGTERM and the signal of LOCKSTEP_PREEMPT_SIGNAL preempt a run, Ctrl-C and SIGHUP interrupt it", "[run]") {
  const auto reason_after = [](const std::vector<int>& signals) {
    const run::StopSignal stop;
    for (const int signal : signals) std::raise(signal);
    return stop.reason();
  };
  CHECK(reason_after({}) == run::StopReason::kNone);
  CHECK(reason_after({SIGTERM}) == run::StopReason::kPreempted);
  CHECK(reason_after({SIGHUP}) == run::StopReason::kInterrupted);
  CHECK(reason_after({SIGINT, SIGTERM}) == run::StopReason::kInterrupted);
  setenv("LOCKSTEP_PREEMPT_SIGNAL", "SIGUSR2", 1);
  CHECK(reason_after({SIGUSR2, SIGUSR2}) == run::StopReason::kPreempted);
  setenv("LOCKSTEP_PREEMPT_SIGNAL", "SIGKILL", 1);
  CHECK_THROWS_WITH(run::StopSignal(), ContainsSubstring("LOCKSTEP_PREEMPT_SIGNAL is SIGKILL"));
  unsetenv("LOCKSTEP_PREEMPT_SIGNAL");
}

TEST_CASE("a batch is cut into parts as equal as can be, which weigh as much as they hold", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = small_options(folder.path());
  options.accumulation_steps = 3;
  run::Run run(options, kFacts);
  const data::Batch batch = batch_of(7);
  const auto parts = run.begin_step(batch, {});
  REQUIRE(parts.size() == 3);
  std::vector<std::int64_t> ids;
  double weights = 0;
  for (const run::MicroBatch& part : parts) {
    const auto own = part.context.sample_ids;
    ids.insert(ids.end(), own.begin(), own.end());
    CHECK(part.inputs.shape()[0] == static_cast<std::int64_t>(own.size()));
    CHECK(part.weight == static_cast<double>(own.size()) / 7);
    CHECK((own.size() == 2 || own.size() == 3));
    weights += part.weight;
  }
  CHECK(ids == std::vector<std::int64_t>{100, 101, 102, 103, 104, 105, 106});
  CHECK(weights == Approx(1));
  CHECK(run.begin_step(batch_of(2), {}).size() == 2);
  CHECK(run.begin_step({}, {}).empty());
}

TEST_CASE("parts weigh as many targets as count in the loss", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = small_options(folder.path());
  options.accumulation_steps = 2;
  run::Run run(options, kFacts);
  const data::Batch batch = batch_of(4);
  const std::span<std::int32_t> targets = batch.targets.span<std::int32_t>();
  const auto weights = [&] {
    const auto parts = run.begin_step(batch, {});
    return std::vector{parts.at(0).weight, parts.at(1).weight};
  };
  std::fill(targets.begin() + 2, targets.begin() + 8, -100);  // 2 are left in the first part, 8 in the second
  CHECK(weights() == std::vector{0.2, 0.8});
  std::fill(targets.begin(), targets.begin() + 2, -100);
  CHECK(weights() == std::vector{0.0, 1.0});
  std::ranges::fill(targets, -100);
  CHECK(weights() == std::vector{0.0, 0.0});
}

TEST_CASE("ranks tell each other at the end of a step who was slow, what each holds, and who wants to stop", "[run]") {
  const test::TemporaryFolder folder;
  const bool wants_to_stop = GENERATE(false, true);
  bool is_finished = false;
  run::StepMetrics step;
  bool has_recorded = false;
  const auto messages = run_as_rank_0(
      [&](comm::ProcessGroup& group) {
        run::Run run(small_options(folder.path()), kFacts, group);
        (void)run.begin_step(batch_of(6), {});
        run.end_step({.loss = 1, .exposed_communication = std::chrono::milliseconds(1)});
        is_finished = run.is_finished();
        step = run::parse_metrics_line(run::to_line(run.log().current()));
        has_recorded = std::ranges::any_of(run.log().recorder()->snapshot().spans, [](const trace::SpanRecord& span) {
          return span.category == trace::Category::kCommunication;
        });
      },
      [&](comm::ProcessGroup& group) { add_rank_1(group, wants_to_stop, 1); });
  CHECK(messages == std::vector<std::string>(2));
  CHECK(is_finished == wants_to_stop);
  CHECK(step.count == 6 * 4 + 20);
  CHECK(step.slowest_rank == 1);
  REQUIRE(step.peak_memory_mib.size() == 2);
  CHECK(step.peak_memory_mib[0] > 1);
  CHECK(step.peak_memory_mib[1] == 5000);
  CHECK(has_recorded);
}

TEST_CASE("the samples of a step are logged in the order in which one process would have read them", "[run]") {
  const test::TemporaryFolder folder;
  std::vector<std::int64_t> ids;
  const auto messages = run_as_rank_0(
      [&](comm::ProcessGroup& group) {
        run::RunOptions options = small_options(folder.path());
        options.output.log_batches = true;
        run::Run run(options, kFacts, group);
        (void)run.begin_step(batch_of(3), {});
        run.end_step({.loss = 1});
        ids = run.log().current().sample_ids;
      },
      [&](comm::ProcessGroup& group) {
        std::vector<std::int64_t> places(12);  // of a batch of 12: this rank has samples 0 and 7, and no third one
        places[1] = 0 + 1;
        places[3] = 7 + 1;
        group.all_reduce(comm::host_buffer(std::span(places))).synchronize();
        add_rank_1(group, false, 1);
      });
  CHECK(messages == std::vector<std::string>(2));
  CHECK(ids == std::vector<std::int64_t>{100, 0, 101, 7, 102});
}

TEST_CASE("a run does not keep the sample numbers of all its steps in memory", "[run][memory]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = small_options(folder.path());
  options.output.log_batches = true;
  const CapturedOutput output;
  run::Run run(options, kFacts);
  for (int step = 0; step < 2; ++step) {
    (void)run.begin_step(batch_of(12), {});
    run.end_step({.loss = 1});
    CHECK(run.log().current().sample_ids.size() == 12);  // for metrics.jsonl
  }
  REQUIRE(run.log().history().size() == 2);
  for (const run::StepMetrics& kept : run.log().history()) CHECK(kept.sample_ids.capacity() == 0);
  CHECK(run.log().history().front().peak_memory_mib.capacity() == 0);
  CHECK(run.log().history().back().peak_memory_mib.size() == 1);
}

TEST_CASE(
    "the progress line gives means of exposed communication and data wait, the slowest rank and the largest memory",
    "[run]") {
  const test::TemporaryFolder folder;
  std::vector<std::chrono::duration<double, std::milli>> data_wait;
  const CapturedOutput output;
  const auto messages = run_as_rank_0(
      [&](comm::ProcessGroup& group) {
        run::Run run(small_options(folder.path()), kFacts, group);
        for (const int milliseconds : {1, 3}) {
          const std::chrono::milliseconds waited_in_all(milliseconds == 1 ? 10 : 40);
          (void)run.begin_step(batch_of(6), waited_in_all);
          run.end_step({.loss = 1, .exposed_communication = std::chrono::milliseconds(milliseconds)});
          data_wait.push_back(run.log().current().data_wait);
        }
        run.print_step();
      },
      [&](comm::ProcessGroup& group) { add_rank_1(group, false, 2); });
  CHECK(messages == std::vector<std::string>(2));
  REQUIRE(data_wait.size() == 2);
  CHECK(data_wait[0] == std::chrono::milliseconds(10));
  CHECK(data_wait[1] == std::chrono::milliseconds(30));
  CHECK_THAT(output.text(), ContainsSubstring("exposed 2.0 ms") && ContainsSubstring("slowest rank 1") &&
                                ContainsSubstring("data 20.0 ms") && ContainsSubstring("peak 5000 MiB"));
}

TEST_CASE("numbers that are not finite end the run with rank and step", "[run]") {
  const test::TemporaryFolder folder;
  const run::Run run(small_options(folder.path()), kFacts);
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const autograd::Variable loss(Tensor::from(std::span<const float>(&nan, 1), {1}));
  CHECK_THROWS_WITH(run.require_finite(loss), ContainsSubstring("rank 0: the loss is not a number in step 1;"));
  CHECK_THROWS_WITH(run.require_finite(std::numeric_limits<double>::infinity()),
                    ContainsSubstring("the norm of the gradient is infinite in step 1;"));
  CHECK_NOTHROW(run.require_finite(1.5));
}

TEST_CASE("why one rank gives up is what every rank throws", "[run][multirank]") {
  const test::TemporaryFolder folder;
  const auto messages = run_as_rank_0(
      [&](comm::ProcessGroup& group) {
        const run::Run run(small_options(folder.path()), kFacts, group);
        run.require_finite(std::numeric_limits<double>::quiet_NaN());
      },
      [&](comm::ProcessGroup& group) { add_rank_1(group, false, 1); }, 3);
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("rank 0: the norm of the gradient is not a number in step 1"));
  }
}

TEST_CASE("a module's buffers carry their full names and are saved with its parameters", "[run]") {
  class Inner : public nn::Module {
   public:
    Inner() {
      register_parameter("weight", Tensor::zeros({1}));
      mean = register_buffer("mean", Tensor::zeros({2}));
    }
    nn::Buffer mean;
  };
  class Outer : public nn::Module {
   public:
    Outer() { register_module("norm", inner); }
    Inner inner;
  };
  const test::TemporaryFolder folder;
  Outer model;
  REQUIRE(model.named_buffers().size() == 1);
  CHECK(model.named_buffers()[0].name == "norm.mean");
  CHECK(model.named_parameters().size() == 1);
  optim::Sgd optimizer(model);
  data::SequentialSampler sampler(5);
  model.inner.mean.value().span<float>()[1] = 7;
  run::TrainingSaver saver(folder.path(), {}, nlohmann::json::object(), 1);
  saver.save(1, model, optimizer, sampler);
  saver.finish();
  model.inner.mean.value().fill_zero();
  CHECK(run::load_training(folder.path(), model, optimizer, sampler).step == 1);
  CHECK(model.inner.mean.value().span<float>()[1] == 7);
}
