#pragma once
/// @file
/// CUB's WarpReduce and WarpScan: by shuffles, in the order of lanes.
#include <bit>
#include <cstddef>

#include "lanes.h"

/// The place of the call, as a last parameter that callers omit.
#define LOCKSTEP_EMULATOR_CUB_AT lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()

namespace lockstep::emulator {

// clang-format off
struct AddValues { template <typename T> T operator()(const T& a, const T& b) const { return static_cast<T>(a + b); } };
struct LargerValue { template <typename T> T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
struct SmallerValue { template <typename T> T operator()(const T& a, const T& b) const { return b < a ? b : a; } };
// clang-format on

/// The calling thread's group of `count` neighbouring lanes.
inline Lanes neighbours(unsigned count) noexcept {
  const unsigned mask = count >= 32 ? ~0U : (1U << count) - 1U;
  return Lanes(mask << lane_id() / count * count);
}

}  // namespace lockstep::emulator

namespace cub {

using Sum = lockstep::emulator::AddValues;     ///< The name before CUDA 13.
using Max = lockstep::emulator::LargerValue;   ///< The name before CUDA 13.
using Min = lockstep::emulator::SmallerValue;  ///< The name before CUDA 13.

/// Scratch memory that shuffles do not need.
struct NoStorage {
  char unused;  ///< Never accessed.
};

/// Reductions over `Lanes` neighbouring lanes.
template <typename T, int Lanes = 32>
class WarpReduce {
 public:
  using TempStorage = NoStorage;
  explicit WarpReduce(TempStorage&) noexcept {}

  /// Valid in the first lane only: in the others it is the sum of themselves and those after them.
  T Sum(T value, LOCKSTEP_EMULATOR_CUB_AT) { return Reduce(value, lockstep::emulator::AddValues(), Lanes, at); }
  /// Of the first `valid` lanes.
  T Sum(T value, int valid, LOCKSTEP_EMULATOR_CUB_AT) {
    return Reduce(value, lockstep::emulator::AddValues(), valid, at);
  }
  template <typename Operation>
  T Reduce(T value, Operation operation, LOCKSTEP_EMULATOR_CUB_AT) {
    return Reduce(value, operation, Lanes, at);
  }
  template <typename Operation>
  T Reduce(T value, Operation operation, int valid, LOCKSTEP_EMULATOR_CUB_AT) {
    const auto group = lockstep::emulator::neighbours(Lanes);
    const unsigned rank = group.rank();
    for (unsigned distance = 1; distance < Lanes; distance *= 2) {
      const T other = group.value_of(value, rank + distance, at);
      if (rank + distance < static_cast<unsigned>(valid)) value = operation(value, other);
    }
    return value;
  }
  T Max(T value, LOCKSTEP_EMULATOR_CUB_AT) { return Reduce(value, lockstep::emulator::LargerValue(), Lanes, at); }
  T Min(T value, LOCKSTEP_EMULATOR_CUB_AT) { return Reduce(value, lockstep::emulator::SmallerValue(), Lanes, at); }
};

/// Prefix sums over `Lanes` neighbouring lanes.
template <typename T, int Lanes = 32>
class WarpScan {
 public:
  using TempStorage = NoStorage;
  explicit WarpScan(TempStorage&) noexcept {}

  void InclusiveSum(T input, T& output, LOCKSTEP_EMULATOR_CUB_AT) {
    InclusiveScan(input, output, lockstep::emulator::AddValues(), at);
  }
  void InclusiveSum(T input, T& output, T& total, LOCKSTEP_EMULATOR_CUB_AT) {
    InclusiveSum(input, output, at);
    total = lockstep::emulator::neighbours(Lanes).value_of(output, Lanes - 1, at);
  }
  void ExclusiveSum(T input, T& output, LOCKSTEP_EMULATOR_CUB_AT) {
    ExclusiveScan(input, output, T(), lockstep::emulator::AddValues(), at);
  }
  void ExclusiveSum(T input, T& output, T& total, LOCKSTEP_EMULATOR_CUB_AT) {
    T upto;
    InclusiveSum(input, upto, total, at);
    shift(upto, output, T(), at);
  }
  template <typename Operation>
  void InclusiveScan(T input, T& output, Operation operation, LOCKSTEP_EMULATOR_CUB_AT) {
    output = lockstep::emulator::neighbours(Lanes).inclusive_scan(input, operation, at);
  }
  template <typename Operation>
  void ExclusiveScan(T input, T& output, T first, Operation operation, LOCKSTEP_EMULATOR_CUB_AT) {
    const auto group = lockstep::emulator::neighbours(Lanes);
    const T own = group.rank() == 0 ? operation(first, input) : input;
    T upto = group.inclusive_scan(own, operation, at);
    shift(upto, output, first, at);
  }
  T Broadcast(T input, unsigned lane, LOCKSTEP_EMULATOR_CUB_AT) {
    return lockstep::emulator::neighbours(Lanes).value_of(input, lane, at);
  }

 private:
  static void shift(const T& upto, T& output, const T& first, lockstep::emulator::SourcePlace at) {
    const auto group = lockstep::emulator::neighbours(Lanes);
    const T before = group.value_of(upto, group.rank() - 1, at);
    output = group.rank() == 0 ? first : before;
  }
};

}  // namespace cub
