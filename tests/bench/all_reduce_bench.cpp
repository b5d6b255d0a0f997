/// Times all_reduce (float32 sum, in place) of process groups over the ranks of a job and prints one CSV row per size:
/// system,world_size,bytes,microseconds. Started once per rank: lockstep launch --nproc N -- all_reduce_bench tcp
/// Systems: star, tcp (the ring), private and registered (shared memory, with memory of the caller and with memory from
/// allocate()).
///
/// A second argument, reduce_scatter or all_gather, times that instead, in place as shards are: part r of the buffer,
/// whose size is `bytes`, is rank r's output or input.
///
/// Protocol, the same as in peers/: verify the sum, then rounds of enough calls to fill 0.15 s; a round's time is that
/// of the slowest rank; the median over the rounds counts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "01_mini_all_reduce/star_process_group.hpp"
#include "02_ring_all_reduce/ring_process_group.hpp"
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"

namespace {

using namespace lockstep;

constexpr int kWarmUpRounds = 2;
constexpr int kRounds = 7;
constexpr double kRoundSeconds = 0.15;

constexpr std::size_t kLargestBytes = 64UL << 20;
// Who waits for a call at once need not wake a thread for it: so the peers are called, too.
const comm::CollectiveOptions kBlocking{.run_on = comm::RunOn::kCaller};

std::unique_ptr<comm::ProcessGroup> make_group(const std::string& system) {
  comm::JobContext context = comm::rendezvous("env://");
  if (system == "star") return star::make_star_process_group(std::move(context));
  if (system == "tcp") return ring::make_ring_process_group(std::move(context));
  if (system == "private" || system == "registered") return ring::make_shared_memory_process_group(std::move(context));
  throw FormatError("unknown system '" + system + "': use star, tcp, private or registered");
}

comm::Collective collective_of(const std::string& name) {
  for (const auto each :
       {comm::Collective::kAllReduce, comm::Collective::kReduceScatter, comm::Collective::kAllGather}) {
    if (comm::name_of(each) == name) return each;
  }
  throw FormatError("unknown collective '" + name + "': use all_reduce, reduce_scatter or all_gather");
}

void run_once(comm::ProcessGroup& group, comm::Collective collective, std::span<float> values) {
  const std::size_t count = values.size() / static_cast<std::size_t>(group.world_size());
  const auto all = comm::host_buffer(values.first(count * static_cast<std::size_t>(group.world_size())));
  const auto own = comm::host_buffer(values.subspan(count * static_cast<std::size_t>(group.rank()), count));
  if (collective == comm::Collective::kReduceScatter) {
    group.reduce_scatter(own, all, comm::ReduceOp::kSum, kBlocking).synchronize();
  } else if (collective == comm::Collective::kAllGather) {
    group.all_gather(all, own, kBlocking).synchronize();
  } else {
    group.all_reduce(comm::host_buffer(values), comm::ReduceOp::kSum, kBlocking).synchronize();
  }
}

double slowest_rank(comm::ProcessGroup& group, double seconds) {
  group.all_reduce(comm::host_buffer(std::span(&seconds, 1)), comm::ReduceOp::kMax, kBlocking).synchronize();
  return seconds;
}

double seconds_per_call(comm::ProcessGroup& group, comm::Collective collective, std::span<float> values, long calls) {
  group.barrier().synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (long i = 0; i < calls; ++i) run_once(group, collective, values);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return slowest_rank(group, elapsed.count() / static_cast<double>(calls));
}

double median_seconds(comm::ProcessGroup& group, comm::Collective collective, std::span<float> values) {
  std::ranges::fill(values, static_cast<float>(group.rank() + 1));
  group.barrier(kBlocking).synchronize();  // in registered memory nobody may read before all have written
  group.all_reduce(comm::host_buffer(std::span(values))).synchronize();
  const int world_size = group.world_size();
  const auto expected = static_cast<float>(world_size * (world_size + 1) / 2);
  if (std::ranges::any_of(values, [&](float value) { return value != expected; })) throw Error("wrong sum");
  std::ranges::fill(values, 0.0F);

  long calls = 3;
  std::vector<double> rounds;
  for (int round = -kWarmUpRounds; round < kRounds; ++round) {
    const double seconds = seconds_per_call(group, collective, values, calls);
    if (round < 0) {
      calls = std::clamp(static_cast<long>(kRoundSeconds / seconds), 2L, 20000L);
    } else {
      rounds.push_back(seconds);
    }
  }
  std::ranges::sort(rounds);
  return rounds[rounds.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string system = argc > 1 ? argv[1] : "tcp";
    const comm::Collective collective = collective_of(argc > 2 ? argv[2] : "all_reduce");
    const auto group = make_group(system);
    const auto memory = system == "registered" ? group->allocate(kLargestBytes, {}) : Storage::allocate(kLargestBytes);
    for (const std::size_t bytes : {1UL << 10, 16UL << 10, 256UL << 10, 4UL << 20, kLargestBytes}) {
      const std::span values(reinterpret_cast<float*>(memory->data()), bytes / sizeof(float));
      const double seconds = median_seconds(*group, collective, values);
      if (group->rank() == 0) {
        std::printf("lockstep %s,%d,%zu,%.2f\n", system.c_str(), group->world_size(), bytes, seconds * 1e6);
        std::fflush(stdout);
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "all_reduce_bench: %s\n", error.what());
    return 1;
  }
}
