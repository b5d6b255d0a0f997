/// Times the all-reduce through shared memory (float32 sum, in place), with private and with registered buffers, over
/// the ranks of a job, and prints one CSV row per size: system,world_size,bytes,microseconds. Started once per rank:
/// lockstep launch --nproc N -- shared_memory_bench [private|registered|rewritten|all] [small bytes] [fine]
///
/// Protocol as in all_reduce_bench.cpp and peers/: the same buffer is reduced again and again. In place, each chunk
/// then stays in the cache of the rank that reduces it. A training step is different: "rewritten" is registered memory
/// that each rank fills anew before every call, which is not timed. "fine" has the sizes around the limit of small
/// buffers.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "02_ring_all_reduce/shared_memory_all_reduce.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"

namespace {

using namespace lockstep;

constexpr int kWarmUpRounds = 2;
constexpr int kRounds = 7;
constexpr double kRoundSeconds = 0.15;

class Bench {
 public:
  Bench(const comm::JobContext& context, const ring::SmallBufferLimits& small)
      : context_(context),
        memory_(open(context)),
        registered_(memory_),
        meeting_(memory_, small.private_bytes, Deadline::after(context.limits.join)),
        all_reduce_(meeting_, registered_, small) {}

  void run(const std::string& kind, std::size_t bytes) {
    const std::shared_ptr<Storage> storage = kind == "private"
                                                 ? Storage::allocate(bytes)
                                                 : registered_.allocate(bytes, Deadline::after(context_.limits.join));
    is_rewritten_ = kind == "rewritten";
    const std::span values(reinterpret_cast<float*>(storage->data()), bytes / sizeof(float));
    const double seconds = median_seconds(values);
    if (context_.rank != 0) return;
    std::printf("lockstep shared memory %s,%d,%zu,%.2f\n", kind.c_str(), context_.world_size, bytes, seconds * 1e6);
    std::fflush(stdout);
  }

 private:
  static std::shared_ptr<comm::SharedMemory> open(const comm::JobContext& context) {
    auto found = comm::make_shared_memory(context, "bench", Deadline::after(context.limits.join));
    if (!found.memory) throw UnavailableError(found.reason);
    return found.memory;
  }

  template <typename T>
  void reduce(std::span<T> values, comm::ReduceOp op) {
    const comm::Fingerprint fingerprint{.sequence = sequence_++,
                                        .collective = comm::Collective::kAllReduce,
                                        .op = op,
                                        .dtype = dtype_of<T>,
                                        .root = 0,
                                        .count = static_cast<std::int64_t>(values.size())};
    all_reduce_.run(comm::host_buffer(values), fingerprint, Deadline::after(context_.limits.progress));
  }

  using Clock = std::chrono::steady_clock;

  void begin_together() {
    float zero = 0;
    reduce(std::span(&zero, 1), comm::ReduceOp::kMax);
  }

  double seconds_repeated(std::span<float> values, long calls) {
    begin_together();
    const auto begin = Clock::now();
    for (long i = 0; i < calls; ++i) reduce(values, comm::ReduceOp::kSum);
    return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(calls);
  }

  double seconds_rewritten(std::span<float> values, long calls) {
    std::chrono::duration<double> total{0};
    for (long i = 0; i < calls; ++i) {
      std::ranges::fill(values, 0.0F);
      begin_together();
      const auto begin = Clock::now();
      reduce(values, comm::ReduceOp::kSum);
      total += Clock::now() - begin;
    }
    return total.count() / static_cast<double>(calls);
  }

  double seconds_per_call(std::span<float> values, long calls) {
    double seconds = is_rewritten_ ? seconds_rewritten(values, calls) : seconds_repeated(values, calls);
    reduce(std::span(&seconds, 1), comm::ReduceOp::kMax);
    return seconds;
  }

  double median_seconds(std::span<float> values) {
    const int world_size = context_.world_size;
    std::ranges::fill(values, static_cast<float>(context_.rank + 1));
    reduce(values, comm::ReduceOp::kSum);
    const auto expected = static_cast<float>(world_size * (world_size + 1) / 2);
    if (std::ranges::any_of(values, [&](float value) { return value != expected; })) throw Error("wrong sum");
    begin_together();  // all have looked
    std::ranges::fill(values, 0.0F);

    long calls = 3;
    std::vector<double> rounds;
    for (int round = -kWarmUpRounds; round < kRounds; ++round) {
      const double seconds = seconds_per_call(values, calls);
      if (round < 0)
        calls = std::clamp(static_cast<long>(kRoundSeconds / seconds), 2L, 20000L);
      else
        rounds.push_back(seconds);
    }
    std::ranges::sort(rounds);
    return rounds[rounds.size() / 2];
  }

  const comm::JobContext& context_;
  std::shared_ptr<comm::SharedMemory> memory_;
  comm::RegisteredMemory registered_;
  ring::SharedMemoryMeeting meeting_;
  ring::SharedMemoryAllReduce all_reduce_;
  std::uint64_t sequence_ = 0;
  bool is_rewritten_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string kind = argc > 1 ? argv[1] : "all";
    const comm::JobContext context = comm::rendezvous("env://");
    ring::SmallBufferLimits small = ring::small_buffer_limits(context.world_size);
    if (argc > 2) small = {std::stoul(argv[2]), std::stoul(argv[2])};
    Bench bench(context, small);
    std::vector<std::size_t> sizes{1UL << 10, 16UL << 10, 256UL << 10, 4UL << 20, 64UL << 20};
    if (argc > 3) sizes = {2UL << 10, 4UL << 10, 8UL << 10, 16UL << 10, 32UL << 10, 64UL << 10, 128UL << 10};
    for (const std::string each : {"private", "registered", "rewritten"}) {
      if (kind != "all" && kind != each) continue;
      for (const std::size_t bytes : sizes) bench.run(each, bytes);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shared_memory_bench: %s\n", error.what());
    return 1;
  }
}
