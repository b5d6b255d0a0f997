// data_parallel_threads: data parallelism in the manner of torch.nn.DataParallel (one process, a thread per replica,
// device 0 at the centre) next to DistributedDataParallel (a process per replica, no centre), on the same batches. For
// each: the bytes that the busiest replica sends per step (counted), the time of a step, and the loss at the end.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/programs/global_batch.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/timing.hpp"
#include "comm/rendezvous.hpp"
#include "data/token_dataset.hpp"
#include "kernels/elementwise.hpp"
#include "launch/spawn.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "store/store.hpp"

namespace {

using namespace lockstep;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string model = "tiny";
  int world_size = 2;
  int steps = 20;
  std::int64_t batch_size = 0;  // global; 0: the model's
  double learning_rate = 1e-3;
};

struct Result {
  std::string name;
  std::int64_t bytes = 0;  // sent by the busiest replica in a step; it receives as many
  double seconds = 0;  // median of a step; the first does not count
  double loss = 0;  // of the last step
};

// The replicas of torch.nn.DataParallel: replicate, scatter, compute in parallel, gather. Counts replica 0's traffic as
// if each replica were a device. Each replica's thread lives for the whole run.
class ThreadedReplicas {
 public:
  ThreadedReplicas(const Options& options, const nn::GptConfig& config, const data::Dataset& dataset)
      : options_(options), dataset_(dataset), errors_(static_cast<std::size_t>(options.world_size)) {
    for (int i = 0; i < options.world_size; ++i) replicas_.push_back(std::make_unique<nn::Gpt>(config, 1));
    for (const auto& replica : replicas_) parameters_.push_back(replica->parameters());
    losses_.resize(replicas_.size());
    optimizer_ = std::make_unique<optim::AdamW>(nn::weight_decay_groups(*replicas_.front(), 0.1));
  }

  Result train() {
    std::vector<std::jthread> threads;
    for (std::size_t replica = 1; replica < replicas_.size(); ++replica) {
      threads.emplace_back([this, replica] { run(replica); });
    }
    run(0);
    threads.clear();  // joins
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    const double loss = std::accumulate(losses_.begin(), losses_.end(), 0.0) / options_.world_size;
    return {"threads, device 0 in the middle", bytes_sent_, median(times_), loss};
  }

 private:
  void run(std::size_t replica) {
    try {
      for (int step = 0; step <= options_.steps; ++step) train_step(replica, step);
    } catch (...) {
      errors_[replica] = std::current_exception();
      meeting_.arrive_and_drop();  // no thread waits for this replica any more
    }
  }

  void train_step(std::size_t replica, int step) {
    const auto start = Clock::now();
    if (replica == 0) bytes_sent_ = 0;
    meeting_.arrive_and_wait();
    if (replica != 0) copy_parameters_to(replica);
    replicas_[replica]->zero_grad();
    const data::Batch batch = ddp::share_of(dataset_, options_.batch_size, options_.world_size, step,
                                            static_cast<int>(replica));
    const autograd::Variable loss = replicas_[replica]->loss(batch.inputs, batch.targets);
    losses_[replica] = loss.value().item();
    loss.backward(1.0 / options_.world_size);  // so that the sum over replicas is the mean
    meeting_.arrive_and_wait();
    if (replica != 0) return;  // the rest happens on device 0 only
    for (std::size_t other = 1; other < replicas_.size(); ++other) add_gradients_of(other);
    optimizer_->step(options_.learning_rate);
    if (step > 0) times_.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }

  void copy_parameters_to(std::size_t replica) {
    for (std::size_t i = 0; i < parameters_[0].size(); ++i) {
      const Tensor& source = parameters_[0][i].value();
      parameters_[replica][i].value().copy_from(source);
      bytes_sent_ += source.bytes();
    }
  }

  void add_gradients_of(std::size_t replica) {
    for (std::size_t i = 0; i < parameters_[0].size(); ++i) {
      const Tensor& sum = parameters_[0][i].gradient();
      kernels::add(sum, sum, parameters_[replica][i].gradient());
    }
  }

  Options options_;
  const data::Dataset& dataset_;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::unique_ptr<nn::Gpt>> replicas_;
  std::vector<std::vector<autograd::Variable>> parameters_;  // [replica][parameter]
  std::vector<double> losses_, times_;
  std::unique_ptr<optim::AdamW> optimizer_;
  std::atomic<std::int64_t> bytes_sent_ = 0;  // by replica 0, in one step
  std::barrier<> meeting_{options_.world_size};
};

Result train_processes(const Options& options, const nn::GptConfig& config, const data::Dataset& dataset,
                       comm::ProcessGroup& group, const std::string& name) {
  nn::Gpt model(config, 1);
  ddp::DistributedDataParallel ddp(model, group);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1));
  Result result{.name = name};
  std::vector<double> times;
  for (int step = 0; step <= options.steps; ++step) {
    group.barrier().synchronize();
    const std::uint64_t sent_before = group.traffic_sent().payload_bytes;
    const auto start = Clock::now();
    const data::Batch batch = ddp::share_of(dataset, options.batch_size, options.world_size, step, group.rank());
    optimizer.zero_grad();
    const autograd::Variable loss = model.loss(batch.inputs, batch.targets);
    result.loss = loss.value().item();
    loss.backward();
    optimizer.step(options.learning_rate);
    if (step > 0) times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    result.bytes = static_cast<std::int64_t>(group.traffic_sent().payload_bytes - sent_before);
  }
  result.loss = ddp::average_over_ranks(group, result.loss);
  result.seconds = median(times);
  return result;
}

void print(const std::vector<Result>& results, const Options& options, std::int64_t parameters) {
  const double first = results.front().seconds;
  TextTable table;
  table.add({"", "busiest", "of the", "ms a", "", ""});
  table.add({"replicas are", "sends, B", "model", "step", "speed", "loss"});
  for (const Result& result : results) {
    table.add({result.name, std::to_string(result.bytes),
               with_digits(static_cast<double>(result.bytes) / (4.0 * static_cast<double>(parameters)), 2),
               with_digits(result.seconds * 1e3, 1), with_digits(first / result.seconds, 2),
               with_digits(result.loss, 4)});
  }
  std::cout << options.world_size << " replicas of " << options.model << " (" << parameters << " parameters), batch "
            << options.batch_size << ", " << std::thread::hardware_concurrency() << " cores\n"
            << table.text() << std::flush;
}

int run_rank(const Options& options) {
  const comm::JobContext job = comm::rendezvous("env://");
  const nn::GptConfig config = nn::GptConfig::named(options.model);
  const data::RandomTokenDataset dataset({.sample_count = 4096,
                                          .context_length = config.context_length,
                                          .vocabulary_size = static_cast<std::int32_t>(config.vocabulary_size)});
  std::vector<Result> results;
  // Rank 0's process does the work of all threads; the others sleep meanwhile, so that it has all cores.
  if (job.rank == 0) results.push_back(ThreadedReplicas(options, config, dataset).train());
  if (job.store && job.rank == 0) job.store->set("threads_are_done", "");
  if (job.store) (void)job.store->get("threads_are_done", Deadline::after(std::chrono::hours(1)));
  const auto over_tcp = ring::make_ring_process_group(job, {.small_bytes = 0});
  results.push_back(train_processes(options, config, dataset, *over_tcp, "processes, ring over TCP"));
  const auto in_memory = ring::make_shared_memory_process_group(job);
  results.push_back(train_processes(options, config, dataset, *in_memory, "processes, shared memory"));
  if (job.rank == 0) print(results, options, nn::Gpt(config, 1).parameter_count());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Trains with a thread per replica, then with a process per replica");
  Options options;
  app.add_option("--model", options.model, "Configuration").check(one_of(nn::GptConfig::names()));
  app.add_option("--nproc", options.world_size, "Replicas").check(whole_number(1, 16));
  app.add_option("--steps", options.steps, "That count").check(whole_number(1, 10000));
  app.add_option("--batch-size", options.batch_size, "Samples per step over all replicas; 0: the model's");
  return run_main(app, argc, argv, [&] {
    if (options.batch_size == 0) options.batch_size = nn::GptConfig::named(options.model).batch_size;
    ddp::require_equal_shares(options.batch_size, options.world_size, "replicas");
    return launch::spawn([&] { return run_rank(options); }, options.world_size);
  });
}
