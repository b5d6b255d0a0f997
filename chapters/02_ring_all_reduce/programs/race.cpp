// race: star, mesh and ring all-reduce side by side, over TCP, on more and more ranks. For each: the time, the bytes
// that the busiest rank sends (counted), and the prediction t = alpha + bytes / beta, with alpha and beta measured
// between two ranks of the same run.
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "00_why_many_gpus/cost_model.hpp"
#include "01_mini_all_reduce/star_process_group.hpp"
#include "02_ring_all_reduce/ring_process_group.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/timing.hpp"
#include "comm/rendezvous.hpp"
#include "launch/spawn.hpp"

namespace {

using namespace lockstep;

// Every rank sends its whole buffer to every other, and adds up the buffers in rank order, so that all get the same
// bits. `arrived` has room for the buffers of all ranks.
void mesh_all_reduce(comm::ProcessGroup& group, std::span<float> values, std::vector<float>& arrived) {
  arrived.resize(values.size() * static_cast<std::size_t>(group.world_size()));
  const auto of = [&](int rank) {
    return std::span(arrived).subspan(static_cast<std::size_t>(rank) * values.size(), values.size());
  };
  std::ranges::copy(values, of(group.rank()).begin());
  group.group_start();  // all of these transfers overlap
  for (int peer = 0; peer < group.world_size(); ++peer) {
    if (peer == group.rank()) continue;
    group.send(comm::host_buffer(values), peer);
    group.recv(comm::host_buffer(of(peer)), peer);
  }
  group.group_end().synchronize();
  std::ranges::copy(of(0), values.begin());
  for (int rank = 1; rank < group.world_size(); ++rank) {
    const std::span<const float> theirs = of(rank);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += theirs[i];
  }
}

// If each rank has its own link: chapter 00's model.
double seconds(plan::Algorithm algorithm, int world_size, const plan::Link& link, double bytes) {
  return plan::all_reduce_cost(algorithm, world_size, bytes).seconds(link);
}

// Messages of all ranks together.
int messages_of(plan::Algorithm algorithm, int world_size) {
  const int others = world_size - 1;
  if (algorithm == plan::Algorithm::kMesh) return world_size * others;
  if (algorithm == plan::Algorithm::kRing) return world_size * 2 * others;
  return 2 * others;  // each of the others sends its buffer and receives the sum
}

// As above if all ranks share one machine. A message in flight keeps two cores busy, the sender's and the receiver's,
// so at most one message per pair of cores can be in flight.
double seconds_on_one_host(plan::Algorithm algorithm, int world_size, const plan::Link& link, double bytes) {
  const double pairs = std::max(1.0, std::thread::hardware_concurrency() / 2.0);
  const double message_bytes = algorithm == plan::Algorithm::kRing ? bytes / world_size : bytes;
  const double work = messages_of(algorithm, world_size) * link.seconds(message_bytes);
  return std::max(seconds(algorithm, world_size, link, bytes), work / pairs);
}

// The buffer size at which star and ring take equally long: below it the star's fewer steps win, above it the ring's
// fewer bytes. With 2 ranks the ring has no more steps than the star, and is never slower.
double crossover_bytes(int world_size, const plan::Link& link) {
  const auto star = plan::all_reduce_cost(plan::Algorithm::kStar, world_size, 1);
  const auto ring = plan::all_reduce_cost(plan::Algorithm::kRing, world_size, 1);
  const double more_buffers = star.steps * star.bytes_per_step - ring.steps * ring.bytes_per_step;
  return (ring.steps - star.steps) * link.half_latency_bytes() / more_buffers;
}

void print_crossovers(const std::vector<int>& world_sizes, const plan::Link& link) {
  for (const int world_size : world_sizes) {
    std::cout << "model, " << world_size << " ranks: the ring is faster than the star from "
              << with_digits(crossover_bytes(world_size, link), 0) << " bytes up\n";
  }
}

struct Options {
  std::vector<int> world_sizes = {2, 4, 8};
  std::vector<std::int64_t> bytes = {1 << 20};
  int repeat = 9;
  double alpha_us = 0, beta_gb_s = 0;  // both 0: measure them
  bool shall_only_predict = false;
};

// One contestant: its groups of all sizes are split from `everyone`.
struct Runner {
  std::string name;
  plan::Algorithm algorithm;
  std::unique_ptr<comm::ProcessGroup> everyone;
  std::int64_t most_bytes;  // its largest buffer
};

std::vector<Runner> runners(const comm::JobContext& job) {
  constexpr std::int64_t kAny = std::int64_t{1} << 62;
  const std::int64_t small_bytes = ring::RingOptions{}.small_bytes;
  std::vector<Runner> all;
  all.push_back({"star", plan::Algorithm::kStar, star::make_star_process_group(job), kAny});
  all.push_back({"mesh", plan::Algorithm::kMesh, star::make_star_process_group(job), kAny});
  all.push_back({"ring", plan::Algorithm::kRing, ring::make_ring_process_group(job, {.small_bytes = 0}), kAny});
  // RingProcessGroup's default for a small buffer: everything to rank 0 and back, like the star.
  all.push_back({"ring, via rank 0", plan::Algorithm::kStar, ring::make_ring_process_group(job), small_bytes});
  return all;
}

// Half of a message's round trip to rank 1: like chapter 00's link_probe, but between two ranks of this job.
plan::Link measure_link(comm::ProcessGroup& everyone, int repeat) {
  std::vector<plan::LinkSample> samples;
  for (const std::int64_t bytes : {4, 1024, 16 << 10, 256 << 10, 1 << 20, 4 << 20}) {
    std::vector<float> message(static_cast<std::size_t>(bytes) / sizeof(float));
    const comm::Buffer buffer = comm::host_buffer(std::span(message));
    std::vector<double> times;
    for (int i = 0; i < 2 * repeat && everyone.rank() < 2; ++i) {
      const Stopwatch stopwatch;
      if (everyone.rank() == 0) everyone.send(buffer, 1).synchronize();
      everyone.recv(buffer, 1 - everyone.rank()).synchronize();
      if (everyone.rank() == 1) everyone.send(buffer, 0).synchronize();
      times.push_back(stopwatch.seconds() / 2);
    }
    if (everyone.rank() == 0) samples.push_back({static_cast<double>(bytes), median(times)});
    everyone.barrier().synchronize();
  }
  return everyone.rank() == 0 ? plan::fit_link(samples) : plan::Link{};
}

struct Result {
  double seconds = 0;  // the slowest rank's time, median over the repetitions
  std::int64_t bytes = 0;  // sent by the busiest rank in one all-reduce
};

// Rank r contributes 8^r everywhere: the sum of P ranks is 11...1 in base 8, and no other sum of ranks is.
Result measure(const Runner& runner, comm::ProcessGroup& group, std::int64_t bytes, int repeat) {
  std::vector<float> values(static_cast<std::size_t>(bytes) / sizeof(float)), arrived;
  std::vector<double> times;
  std::int64_t sent = 0;
  for (int i = 0; i <= repeat; ++i) {
    std::ranges::fill(values, static_cast<float>(std::int64_t{1} << (3 * group.rank())));
    group.barrier().synchronize();
    const std::uint64_t sent_before = group.traffic_sent().payload_bytes;
    const Stopwatch stopwatch;
    if (runner.algorithm == plan::Algorithm::kMesh) {
      mesh_all_reduce(group, values, arrived);
    } else {
      group.all_reduce(comm::host_buffer(std::span(values))).synchronize();
    }
    if (i > 0) times.push_back(stopwatch.seconds());  // the first one connects and warms up
    sent = static_cast<std::int64_t>(group.traffic_sent().payload_bytes - sent_before);
    const auto expected = static_cast<float>(((std::int64_t{1} << (3 * group.world_size())) - 1) / 7);
    if (std::ranges::count(values, expected) != std::ssize(values)) throw Error(runner.name + " gives a wrong sum");
  }
  group.all_reduce(comm::host_buffer(std::span(times)), comm::ReduceOp::kMax).synchronize();
  group.all_reduce(comm::host_buffer(std::span(&sent, 1)), comm::ReduceOp::kMax).synchronize();
  return {median(times), sent};
}

std::vector<std::string> row(const Runner& runner, int world_size, std::int64_t bytes, const Result& result,
                             const plan::Link& link) {
  const double predicted = seconds(runner.algorithm, world_size, link, static_cast<double>(bytes));
  const double on_one_host = seconds_on_one_host(runner.algorithm, world_size, link, static_cast<double>(bytes));
  return {runner.name,
          std::to_string(world_size),
          std::to_string(result.bytes),
          with_digits(result.seconds * 1e6, 0),
          with_digits(predicted * 1e6, 0),
          with_digits(result.seconds / predicted, 1),
          with_digits(on_one_host * 1e6, 0),
          with_digits(result.seconds / on_one_host, 1)};
}

int run_rank(const Options& options) {
  const comm::JobContext job = comm::rendezvous("env://");
  const std::vector<Runner> all = runners(job);
  const plan::Link given{options.alpha_us * 1e-6, options.beta_gb_s * 1e9};
  const plan::Link link = options.beta_gb_s > 0 ? given : measure_link(*all.front().everyone, options.repeat);
  if (job.rank == 0) {
    std::cout << "alpha " << with_digits(link.alpha_seconds * 1e6, 1) << " us, beta "
              << with_digits(link.bytes_per_second / 1e9, 2) << " GB/s between two ranks; "
              << std::thread::hardware_concurrency() << " cores\n";
  }
  for (const std::int64_t bytes : options.bytes) {
    TextTable table;
    table.add({"all-reduce", "ranks", "most sent", "us", "model", "ratio", "one host", "ratio"});
    for (const int world_size : options.world_sizes) {
      for (const Runner& runner : all) {
        if (bytes > runner.most_bytes) continue;
        const bool takes_part = job.rank < world_size;
        const auto group = runner.everyone->split(takes_part ? 0 : comm::ProcessGroup::kNoColor, job.rank);
        if (takes_part) {
          table.add(row(runner, world_size, bytes, measure(runner, *group, bytes, options.repeat), link));
        }
        runner.everyone->barrier().synchronize();
      }
    }
    if (job.rank == 0) std::cout << bytes << " bytes on each rank\n"
                                 << table.text() << std::flush;
  }
  if (job.rank == 0) print_crossovers(options.world_sizes, link);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Races star, mesh and ring all-reduce, and predicts the outcome");
  Options options;
  app.add_option("--world-sizes", options.world_sizes, "Ranks, 2 to 8").check(whole_number(2, 8));
  app.add_option("--bytes", options.bytes, "Bytes of the buffer on each rank").check(whole_number(4, 1 << 28));
  app.add_option("--repeat", options.repeat, "Number of measured runs").check(whole_number(1, 1000));
  app.add_option("--alpha-us", options.alpha_us, "Latency for the prediction")
      .check(real_number(0))
      .without_default();
  app.add_option("--beta-gb-s", options.beta_gb_s, "Bandwidth for the prediction; both are measured if left out")
      .check(positive_number())
      .without_default();
  app.add_flag("--predict", options.shall_only_predict, "Only predict the size from which the ring is faster");
  return run_main(app, argc, argv, [&] {
    if (app.is_given("--alpha-us") != app.is_given("--beta-gb-s"))
      throw UsageError("--alpha-us and --beta-gb-s go together: give both, or neither, and they are measured");
    if (options.shall_only_predict) {
      if (options.beta_gb_s <= 0) throw UsageError("--predict needs --alpha-us and --beta-gb-s");
      print_crossovers(options.world_sizes, {options.alpha_us * 1e-6, options.beta_gb_s * 1e9});
      return 0;
    }
    const int most = *std::ranges::max_element(options.world_sizes);
    return launch::spawn([&] { return run_rank(options); }, most);
  });
}
