// Sums of a whole array to one double.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "kernels/cpu/block_sums.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/types.hpp"

namespace lockstep::kernels::cpu {

namespace {

// Half a vector of floats: as many elements as a vector of doubles.
using HalfVector = float __attribute__((vector_size(kVectorBytes / 2)));

}  // namespace

void sum(double* result, ConstArray values, Context) {
  on_wide_type(values, [&]<typename T>() {
    const auto* const from = values.as<T>();
    *result = block_sum(values.count(), [=](std::int64_t begin, std::int64_t end) {
      double part = 0;
      for (std::int64_t i = begin; i < end; ++i) part += static_cast<double>(from[i]);
      return part;
    });
  });
}

void squared_norm(double* result, ConstArray values, Context) {
  const float* const from = values.as<float>();
  *result = block_sum(values.count(), [=](std::int64_t begin, std::int64_t end) {
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

void count_non_finite(double* result, ConstArray values, Context) {
  // A float is finite unless all exponent bits are set.
  const float* const from = values.as<float>();
  *result = block_sum(values.count(), [=](std::int64_t begin, std::int64_t end) {
    constexpr std::uint32_t kExponentBits = 0x7F800000;
    int bad = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      bad += (std::bit_cast<std::uint32_t>(from[i]) & kExponentBits) == kExponentBits ? 1 : 0;
    }
    return static_cast<double>(bad);
  });
}

void count_non_finite_by_part(Array total, Array by_part, ConstArray values, ConstArray ends, Context) {
  const std::int64_t *const limits = ends.as<std::int64_t>(), *const last = limits + ends.count();
  for (std::int64_t i = 0; i < values.count(); ++i) {
    if (std::isfinite(values.as<float>()[i])) continue;
    ++*total.as<std::int64_t>();
    const std::int64_t* const part = std::upper_bound(limits, last, i);
    if (part != last) ++by_part.as<std::int64_t>()[part - limits];
  }
}

void squared_error(double* result, Array gradient, ConstArray prediction, ConstArray target, double gradient_factor,
                   Context) {
  on_wide_type(prediction, [&]<typename T>() {
    const T *const y = prediction.as<T>(), *const wanted = target.as<T>();
    T* const to = gradient.as<T>();
    double total = 0;
    for (std::int64_t i = 0; i < prediction.count(); ++i) {
      const double difference = static_cast<double>(y[i] - wanted[i]);
      total += difference * difference;
    }
    const T factor = static_cast<T>(gradient_factor);
    for (std::int64_t i = 0; to != nullptr && i < prediction.count(); ++i) to[i] = factor * (y[i] - wanted[i]);
    *result = total;
  });
}

}  // namespace lockstep::kernels::cpu
