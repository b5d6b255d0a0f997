// ddp_ladder: trains a GPT on the same batches with each rung of this chapter: an all-reduce for each parameter after
// backward, buckets that leave during backward, and DistributedDataParallel. For each: the all-reduces of a step
// (counted), the time that the rank waited with nothing left to compute, the time of a step, and the final weights,
// which are equal.
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "06_gpt_ddp/ddp/gradient_buckets.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/ladder/naive_ddp.hpp"
#include "06_gpt_ddp/ladder/reducer.hpp"
#include "06_gpt_ddp/programs/global_batch.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/timing.hpp"
#include "comm/rendezvous.hpp"
#include "data/token_dataset.hpp"
#include "launch/spawn.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "trace/recorder.hpp"

namespace {

using namespace lockstep;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string model = "tiny";
  int world_size = 2;
  int steps = 10;
  std::int64_t batch_size = 0;  // global; 0: the model's
  std::int64_t bucket_kib = 1024;
};

// One way to average a model's gradients. The constructor makes the model equal on all ranks.
class Rung {
 public:
  virtual ~Rung() = default;
  // Call after backward. Averages the remaining gradients. Returns how long the rank waited for other ranks.
  virtual std::chrono::nanoseconds finish() = 0;
};

// First rung: nothing happens before backward has ended.
class Naive final : public Rung {
 public:
  Naive(nn::Module& model, comm::ProcessGroup& group) : model_(model), group_(group) {
    ddp::broadcast_parameters(model, group);
  }
  std::chrono::nanoseconds finish() override {
    const auto begin = Clock::now();
    ddp::average_gradients(model_, group_);
    return Clock::now() - begin;
  }

 private:
  nn::Module& model_;
  comm::ProcessGroup& group_;
};

// Second rung: a Reducer and its surroundings. Backward reports each gradient to it, and the Reducer launches buckets.
class Buckets final : public Rung, private autograd::GradientObserver, private ddp::BucketAverager {
 public:
  Buckets(nn::Module& model, comm::ProcessGroup& group, const ddp::BucketLimits& limits)
      : group_(group),
        buckets_(nn::trained_parameters(model), group, limits),
        reducer_(parameters_of(buckets_), *this),
        works_(buckets_.all().size()) {
    ddp::broadcast_parameters(model, group);
    for (const nn::NamedParameter& named : buckets_.parameters()) named.parameter.add_observer(this);
  }
  ~Buckets() override {
    for (const nn::NamedParameter& named : buckets_.parameters()) named.parameter.remove_observer(this);
  }
  std::chrono::nanoseconds finish() override { return exposed_; }

 private:
  static std::vector<std::vector<std::size_t>> parameters_of(const ddp::GradientBuckets& buckets) {
    std::vector<std::vector<std::size_t>> parameters;
    for (const ddp::Bucket& bucket : buckets.all()) parameters.push_back(bucket.parameters);
    return parameters;
  }

  void on_gradient_ready(autograd::Variable& parameter) override {
    const auto found = std::ranges::find_if(buckets_.parameters(), [&](const nn::NamedParameter& named) {
      return named.parameter.node() == parameter.node();
    });
    reducer_.on_gradient_ready(static_cast<std::size_t>(found - buckets_.parameters().begin()));
  }
  void on_backward_end() override {
    const auto begin = Clock::now();
    reducer_.on_backward_end();
    exposed_ = Clock::now() - begin;
  }
  void launch(std::size_t bucket) override { works_[bucket] = ddp::all_reduce_hook(group_, buckets_.all()[bucket]); }
  void wait(std::size_t bucket) override { works_[bucket].synchronize(); }

  comm::ProcessGroup& group_;
  ddp::GradientBuckets buckets_;
  ddp::Reducer reducer_;
  std::vector<comm::Work> works_;
  std::chrono::nanoseconds exposed_{0};
};

// Third rung: the complete wrapper, with its checks.
class Wrapper final : public Rung {
 public:
  Wrapper(nn::Module& model, comm::ProcessGroup& group, const ddp::BucketLimits& limits)
      : ddp_(model, group, {.bucket_limits = limits}) {}
  std::chrono::nanoseconds finish() override { return ddp_.exposed_communication(); }

 private:
  ddp::DistributedDataParallel ddp_;
};

struct Result {
  std::string name;
  std::size_t all_reduces = 0;  // of the last step
  double seconds = 0;  // median of a step; the first does not count
  double exposed = 0;  // median, in seconds
  double loss = 0;  // of the last step
  std::uint64_t weights = 0;  // digest, at the end
};

std::size_t all_reduces_in(const trace::Recorder& recorder, std::int64_t step) {
  const trace::RankTrace trace = recorder.snapshot();
  return static_cast<std::size_t>(std::ranges::count_if(trace.spans, [&](const trace::SpanRecord& span) {
    return span.step == step && span.name.starts_with("all_reduce");
  }));
}

Result train(const Options& options, const std::string& name, nn::Gpt& model, Rung& rung, comm::ProcessGroup& group,
             const data::Dataset& dataset) {
  const auto recorder = std::make_shared<trace::Recorder>(group.rank());
  const auto recorder_before = group.record_to(recorder);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1));
  Result result{.name = name};
  std::vector<double> times, exposed;
  for (int step = 0; step <= options.steps; ++step) {
    group.barrier().synchronize();
    recorder->set_step(step);
    const auto begin = Clock::now();
    const data::Batch batch = ddp::share_of(dataset, options.batch_size, options.world_size, step, group.rank());
    optimizer.zero_grad();
    const autograd::Variable loss = model.loss(batch.inputs, batch.targets);
    result.loss = loss.value().item();
    loss.backward();
    const std::chrono::duration<double> waited = rung.finish();
    optimizer.step(1e-3);
    if (step == 0) continue;
    times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    exposed.push_back(waited.count());
  }
  result.all_reduces = all_reduces_in(*recorder, options.steps);
  group.record_to(recorder_before);
  result.loss = ddp::average_over_ranks(group, result.loss);
  ddp::require_equal_parameters(model, group, "at the end of the rung: " + name);
  result.weights = ddp::parameter_digest(model);
  result.seconds = median(times);
  result.exposed = median(exposed);
  return result;
}

std::string hexadecimal(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << std::setfill('0') << std::setw(16) << number;
  return text.str();
}

void print(const std::vector<Result>& results, const Options& options, std::string_view backend) {
  TextTable table;
  table.add({"rung", "all-reduces a step", "exposed ms", "ms a step", "loss", "weights"});
  for (const Result& result : results) {
    table.add({result.name, std::to_string(result.all_reduces), with_digits(result.exposed * 1e3, 2),
               with_digits(result.seconds * 1e3, 1), with_digits(result.loss, 4), hexadecimal(result.weights)});
  }
  std::cout << options.world_size << " ranks (" << backend << "), " << options.model << ", batch " << options.batch_size
            << ", " << options.steps << " steps\n"
            << table.text() << std::flush;
}

int run_rank(const Options& options) {
  const comm::JobContext job = comm::rendezvous("env://");
  const auto group = backend::make_process_group("auto", job);
  const nn::GptConfig config = nn::GptConfig::named(options.model);
  const data::RandomTokenDataset dataset({.sample_count = 4096,
                                          .context_length = config.context_length,
                                          .vocabulary_size = static_cast<std::int32_t>(config.vocabulary_size)});
  const std::int64_t bytes = options.bucket_kib * 1024;
  const ddp::BucketLimits limits{.first_bytes = bytes, .bytes = bytes};
  // Each rank draws different weights; only the rung makes them equal.
  const auto seed = static_cast<std::uint64_t>(1 + group->rank());
  std::vector<Result> results;
  const auto climb = [&](const std::string& name, const auto& make) {
    nn::Gpt model(config, seed);
    const std::unique_ptr<Rung> rung = make(model);
    results.push_back(train(options, name, model, *rung, *group, dataset));
  };
  climb("naive_ddp", [&](nn::Gpt& model) { return std::make_unique<Naive>(model, *group); });
  climb("Reducer", [&](nn::Gpt& model) { return std::make_unique<Buckets>(model, *group, limits); });
  climb("DistributedDataParallel", [&](nn::Gpt& model) { return std::make_unique<Wrapper>(model, *group, limits); });
  if (job.rank == 0) print(results, options, group->backend());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Trains a GPT with each rung of data parallelism, and compares them");
  Options options;
  app.add_option("--model", options.model, "Configuration").check(one_of(nn::GptConfig::names()));
  app.add_option("--nproc", options.world_size, "Ranks").check(whole_number(1, 16));
  app.add_option("--steps", options.steps, "That count").check(whole_number(1, 10000));
  app.add_option("--batch-size", options.batch_size, "Samples per step over all ranks; 0: the model's");
  app.add_option("--bucket-kib", options.bucket_kib, "Size of a bucket, in KiB").check(whole_number(1, 1 << 20));
  return run_main(app, argc, argv, [&] {
    if (options.batch_size == 0) options.batch_size = nn::GptConfig::named(options.model).batch_size;
    ddp::require_equal_shares(options.batch_size, options.world_size, "ranks");
    return launch::spawn([&] { return run_rank(options); }, options.world_size);
  });
}
