#include "kernels/optimizer.hpp"

#include <array>
#include <bit>
#include <cmath>

#include "base/error.hpp"
#include "kernels/cpu/block_sums.hpp"
#include "kernels/cpu/check.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd.hpp"

namespace lockstep::kernels {

namespace {

constexpr std::int64_t kBlock = 8192;  // elements per task

// Half a vector of floats: as many elements as a vector of doubles.
using HalfVector = float __attribute__((vector_size(kVectorBytes / 2)));

std::int64_t count_of(std::span<const float> values) { return static_cast<std::int64_t>(values.size()); }

void require_sizes(std::string_view operation, std::size_t expected, std::initializer_list<std::size_t> sizes) {
  for (const std::size_t size : sizes) {
    require(size == expected, operation, ": ", size, " elements beside ", expected, " parameters");
  }
}

void adam_block(float* p, float* m, float* v, const float* gradient, std::int64_t count, const AdamConstants& c) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * c.gradient_scale + c.gradient_decay * p[i];
    const float shrunk = p[i] * c.decay;
    m[i] = m[i] * c.beta1 + c.one_minus_beta1 * g;
    v[i] = v[i] * c.beta2 + c.one_minus_beta2 * g * g;
    const float denominator = std::sqrt(v[i]) / c.correction2_sqrt + c.epsilon;
    p[i] = shrunk - c.step_size * m[i] / denominator;
  }
}

}  // namespace

void sgd_step(std::span<float> parameter, std::span<float> velocity, std::span<const float> gradient,
              const SgdOptions& options) {
  require_sizes("sgd_step", parameter.size(), {gradient.size(), velocity.empty() ? parameter.size() : velocity.size()});
  require(options.momentum == 0.0 || velocity.size() == parameter.size(), "sgd_step: momentum needs a velocity");
  const auto rate = static_cast<float>(options.learning_rate), decay = static_cast<float>(options.weight_decay);
  const auto momentum = static_cast<float>(options.momentum);
  const bool is_nesterov = options.is_nesterov;
  float* const p = parameter.data();
  float* const speed = velocity.empty() ? nullptr : velocity.data();
  const float* const from = gradient.data();
  const std::int64_t count = count_of(parameter);
  parallel_blocks(count, kBlock, count, [=](std::int64_t begin, std::int64_t end) {
    if (speed == nullptr) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) p[i] -= rate * (from[i] + decay * p[i]);
      return;
    }
    if (is_nesterov) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        const float g = from[i] + decay * p[i];
        speed[i] = momentum * speed[i] + g;
        p[i] -= rate * (g + momentum * speed[i]);
      }
      return;
    }
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) {
      speed[i] = momentum * speed[i] + (from[i] + decay * p[i]);
      p[i] -= rate * speed[i];
    }
  });
}

void adam_step(std::span<float> parameter, std::span<float> first_moment, std::span<float> second_moment,
               std::span<const float> gradient, const AdamOptions& options) {
  require_sizes("adam_step", parameter.size(), {first_moment.size(), second_moment.size(), gradient.size()});
  require(options.step >= 1, "adam_step: steps count from 1, not ", options.step);
  const AdamConstants constants(options);
  const std::int64_t count = count_of(parameter);
  parallel_blocks(count, kBlock, count, [&](std::int64_t begin, std::int64_t end) {
    adam_block(parameter.data() + begin, first_moment.data() + begin, second_moment.data() + begin,
               gradient.data() + begin, end - begin, constants);
  });
}

double squared_norm(std::span<const float> values) {
  const float* const from = values.data();
  return block_sum(count_of(values), [=](std::int64_t begin, std::int64_t end) {
    std::array<Vector<double>, 2> sums{};
    for_each_vector<float>(end - begin, [&](std::int64_t i, auto lanes) {
      const auto halves = std::bit_cast<std::array<HalfVector, 2>>(load(from + begin + i, lanes));
      for (std::size_t half = 0; half < 2; ++half) {
        const Vector<double> wide = __builtin_convertvector(halves[half], Vector<double>);
        sums[half] += wide * wide;
      }
    });
    double total = 0;
    for (const Vector<double>& half : sums) {
      for (int lane = 0; lane < kLanes<double>; ++lane) total += half[lane];
    }
    return total;
  });
}

void scale(std::span<float> values, double factor) {
  float* const to = values.data();
  const auto rounded = static_cast<float>(factor);
  parallel_blocks(count_of(values), kBlock, count_of(values), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] *= rounded;
  });
}

bool is_finite(std::span<const float> values) {
  // A float is finite unless all exponent bits are set.
  const float* const from = values.data();
  return block_sum(count_of(values), [=](std::int64_t begin, std::int64_t end) {
           constexpr std::uint32_t kExponentBits = 0x7F800000;
           int bad = 0;
           for (std::int64_t i = begin; i < end; ++i) {
             bad += (std::bit_cast<std::uint32_t>(from[i]) & kExponentBits) == kExponentBits ? 1 : 0;
           }
           return static_cast<double>(bad);
         }) == 0.0;
}

namespace cpu {

double sum(const Tensor& values) {
  double total = 0;
  on_device_and_type("sum", values, [&](auto zero) {
    const auto* const from = data_of<decltype(zero)>(values);
    total = block_sum(values.count(), [=](std::int64_t begin, std::int64_t end) {
      double part = 0;
      for (std::int64_t i = begin; i < end; ++i) part += static_cast<double>(from[i]);
      return part;
    });
  });
  return total;
}

}  // namespace cpu

}  // namespace lockstep::kernels
