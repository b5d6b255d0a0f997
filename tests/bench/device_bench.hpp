#pragma once
/// @file
/// What device_bench times, and how.
#include <algorithm>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#ifdef LOCKSTEP_HAVE_CUDA
#include <cuda_profiler_api.h>
#endif

#include "base/json.hpp"
#include "base/philox.hpp"
#include "base/timing.hpp"
#include "device/cuda_check.hpp"
#include "device/stream.hpp"
#include "kernels/ops.hpp"

namespace lockstep::bench {

// B samples of T tokens are R rows of C channels in H heads; V tokens in the vocabulary, L blocks, P parameters.
struct Sizes {
  std::int64_t B, T, C, H, V, L;
  std::int64_t R = B * T;
  std::int64_t P = (V + T) * C + L * (12 * C * C + 13 * C) + 2 * C;
};
inline constexpr Sizes kTiny{2, 8, 16, 2, 40, 1};
[[nodiscard]] constexpr Sizes gpt_124m(std::int64_t samples) { return {samples, 1024, 768, 12, 50304, 12}; }

struct Options {
  std::string only, dtype, device = "cuda";
  std::int64_t samples = 8;
  bool once = false, list = false, tiny = false;
};

// The inputs of every operation, and how it is timed.
class DeviceBench {
 public:
  explicit DeviceBench(Options options)
      : sizes(options.tiny ? kTiny : gpt_124m(options.samples)),
        device_(Device::parse(options.device)),
        options_(std::move(options)) {}

  const Sizes sizes;

  struct Row {
    std::string name;
    DType dtype = DType::kFloat32;
    std::int64_t times_per_step = 0;  // in a training step of GPT-2
    std::int64_t bytes = 0;           // read and written at least
    std::int64_t operations = 0;
  };

  // `prepare` makes the inputs and returns the call.
  void add(const Row& row, const std::function<std::function<void()>()>& prepare) {
    if (!options_.only.empty() && options_.only != row.name) return;
    if (!options_.dtype.empty() && options_.dtype != name_of(row.dtype)) return;
    ++count_;
    if (options_.list) {
      std::cout << row.name << " " << name_of(row.dtype) << "\n";
      return;
    }
    const nlohmann::ordered_json line{{"operation", row.name},    {"dtype", std::string(name_of(row.dtype))},
                                      {"ms", measure(prepare())}, {"times_per_step", row.times_per_step},
                                      {"bytes", row.bytes},       {"operations", row.operations}};
    std::cout << dump_json(line) << std::endl;
    release_cached_memory(device_);
  }

  [[nodiscard]] int count() const noexcept { return count_; }

  // Standard normal elements: one block of them, over and over.
  [[nodiscard]] Tensor random(const Shape& shape, DType dtype = DType::kFloat32) {
    if (!block_.is_defined()) block_ = random_block();
    const Tensor all = Tensor::empty(shape, dtype, device_), flat = all.reshape({all.count()});
    for (std::int64_t begin = 0; begin < all.count(); begin += kBlock) {
      const std::int64_t end = std::min(all.count(), begin + kBlock);
      kernels::cast(flat.rows(begin, end), block_.rows(0, end - begin));
    }
    return all;
  }

  // Every token is somewhere else in the table.
  [[nodiscard]] Tensor random_tokens() const {
    std::vector<std::int32_t> ids;
    PhiloxSequence words(2);
    for (std::int64_t i = 0; i < sizes.R; ++i)
      ids.push_back(static_cast<std::int32_t>(words.next_below(static_cast<std::uint64_t>(sizes.V))));
    return Tensor::from(std::span<const std::int32_t>(ids), {sizes.B, sizes.T}, device_);
  }

 private:
  static constexpr std::int64_t kBlock = std::int64_t{1} << 21;

  [[nodiscard]] Tensor random_block() const {
    std::vector<float> values;
    PhiloxSequence words(1);
    while (values.size() < kBlock) {
      const std::uint32_t first = words.next_word();
      for (const float value : normal_floats(first, words.next_word())) values.push_back(value);
    }
    return Tensor::from(std::span<const float>(values), {kBlock}, device_);
  }

  // Milliseconds between two events on the GPU. It fills the cache first, which gives the host time to enqueue the
  // rest.
  [[nodiscard]] double measure(const std::function<void()>& call) {
    const Tensor others = random({options_.tiny ? 64 : std::int64_t{1} << 26});  // 256 MiB: several times any cache
    const Stream& stream = current_stream(device_);
    const int warm_ups = options_.once ? 0 : 3, rounds = options_.once ? 1 : 15;
    std::vector<double> times;
    for (int round = -warm_ups; round < rounds; ++round) {
      Event begin(device_, Event::Timing::kTimed), end(device_, Event::Timing::kTimed);
      if (!options_.once) kernels::scale(others, 1.0);
      begin.record(stream);
      profile(Profiling::kStart);
      call();
      profile(Profiling::kStop);
      end.record(stream);
      stream.synchronize();
      if (round >= 0) times.push_back(end.milliseconds_since(begin));
    }
    return median(std::move(times));
  }

  enum class Profiling { kStart, kStop };

  // For a profiler that was told not to look before: ncu --profile-from-start off.
  void profile([[maybe_unused]] Profiling change) const {
#ifdef LOCKSTEP_HAVE_CUDA
    if (!options_.once) return;
    cuda_check(change == Profiling::kStart ? cudaProfilerStart() : cudaProfilerStop(), "switching the profiler");
#endif
  }

  Device device_;
  Options options_;
  Tensor block_;
  int count_ = 0;
};

}  // namespace lockstep::bench
