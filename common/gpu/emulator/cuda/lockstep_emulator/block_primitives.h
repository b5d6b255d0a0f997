#pragma once
/// @file
/// CUB's BlockReduce and BlockScan: through shared memory, in the order of threads. As with CUB, a __syncthreads() must
/// come before the scratch memory is used again.
#include <cstddef>

#include "builtin_variables.h"
#include "copies_apart.h"
#include "synchronization.h"
#include "warp_primitives.h"

namespace cub {

/// Accepted: there is one way.
enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
};
/// Accepted: there is one way.
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

LOCKSTEP_EMULATOR_COPY {
  /// A value of each thread, in shared memory without constructors.
  template <typename T, int Count>
  struct BlockValues {
    alignas(T) unsigned char bytes[Count * sizeof(T)];
    T& operator[](int index) { return *reinterpret_cast<T*>(bytes + index * sizeof(T)); }
  };

  inline int thread_of_block() noexcept {
    return static_cast<int>((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
  }
  inline void barrier(lockstep::emulator::SourcePlace at) {
    lockstep::emulator::sync_block(lockstep::emulator::BarrierResult::kNothing, 0, at);
  }

  /// Reductions over a block of X * Y * Z threads. Only thread 0 gets a valid result.
  template <typename T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1>
  class BlockReduce {
    static constexpr int kThreads = X * Y * Z;

   public:
    using TempStorage = BlockValues<T, kThreads>;
    explicit BlockReduce(TempStorage& storage) noexcept : values_(storage) {}

    T Sum(T value, LOCKSTEP_EMULATOR_CUB_AT) { return Reduce(value, lockstep::emulator::AddValues(), kThreads, at); }
    /// Of the first `valid` threads.
    T Sum(T value, int valid, LOCKSTEP_EMULATOR_CUB_AT) {
      return Reduce(value, lockstep::emulator::AddValues(), valid, at);
    }
    template <int Items>
    T Sum(T (&values)[Items], LOCKSTEP_EMULATOR_CUB_AT) {
      return Reduce(values, lockstep::emulator::AddValues(), at);
    }
    template <typename Operation>
    T Reduce(T value, Operation operation, LOCKSTEP_EMULATOR_CUB_AT) {
      return Reduce(value, operation, kThreads, at);
    }
    template <int Items, typename Operation>
    T Reduce(T (&values)[Items], Operation operation, LOCKSTEP_EMULATOR_CUB_AT) {
      T own = values[0];
      for (int item = 1; item < Items; ++item) own = operation(own, values[item]);
      return Reduce(own, operation, kThreads, at);
    }
    template <typename Operation>
    T Reduce(T value, Operation operation, int valid, LOCKSTEP_EMULATOR_CUB_AT) {
      const int thread = thread_of_block();
      values_[thread] = value;
      for (int distance = 1; distance < kThreads; distance *= 2) {
        barrier(at);
        if (thread % (2 * distance) == 0 && thread + distance < valid) {
          value = operation(value, values_[thread + distance]);
          values_[thread] = value;
        }
      }
      return value;
    }

   private:
    TempStorage& values_;
  };

  /// Prefix sums over a block of X * Y * Z threads.
  template <typename T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
  class BlockScan {
    static constexpr int kThreads = X * Y * Z;

   public:
    using TempStorage = BlockValues<T, kThreads>;
    explicit BlockScan(TempStorage& storage) noexcept : values_(storage) {}

    void InclusiveSum(T input, T& output, LOCKSTEP_EMULATOR_CUB_AT) {
      InclusiveScan(input, output, lockstep::emulator::AddValues(), at);
    }
    void InclusiveSum(T input, T& output, T& total, LOCKSTEP_EMULATOR_CUB_AT) {
      InclusiveScan(input, output, lockstep::emulator::AddValues(), total, at);
    }
    void ExclusiveSum(T input, T& output, LOCKSTEP_EMULATOR_CUB_AT) {
      T total;
      ExclusiveSum(input, output, total, at);
    }
    void ExclusiveSum(T input, T& output, T& total, LOCKSTEP_EMULATOR_CUB_AT) {
      ExclusiveScan(input, output, T(), lockstep::emulator::AddValues(), total, at);
    }
    template <int Items>
    void ExclusiveSum(T (&input)[Items], T (&output)[Items], LOCKSTEP_EMULATOR_CUB_AT) {
      scan_items(input, output, false, at);
    }
    template <int Items>
    void InclusiveSum(T (&input)[Items], T (&output)[Items], LOCKSTEP_EMULATOR_CUB_AT) {
      scan_items(input, output, true, at);
    }
    template <typename Operation>
    void InclusiveScan(T input, T& output, Operation operation, LOCKSTEP_EMULATOR_CUB_AT) {
      T total;
      InclusiveScan(input, output, operation, total, at);
    }
    /// @param[out] total  Of the whole block, in every thread.
    template <typename Operation>
    void InclusiveScan(T input, T& output, Operation operation, T& total, LOCKSTEP_EMULATOR_CUB_AT) {
      const int thread = thread_of_block();
      values_[thread] = input;
      for (int distance = 1; distance < kThreads; distance *= 2) {
        barrier(at);
        const bool is_added = thread >= distance;
        const T sum = is_added ? operation(values_[thread - distance], values_[thread]) : input;
        barrier(at);
        if (is_added) values_[thread] = sum;
      }
      barrier(at);
      output = values_[thread];
      total = values_[kThreads - 1];
    }
    template <typename Operation>
    void ExclusiveScan(T input, T& output, T first, Operation operation, LOCKSTEP_EMULATOR_CUB_AT) {
      T total;
      ExclusiveScan(input, output, first, operation, total, at);
    }
    /// @param[out] total  Of the inputs, without `first`.
    template <typename Operation>
    void ExclusiveScan(T input, T& output, T first, Operation operation, T& total, LOCKSTEP_EMULATOR_CUB_AT) {
      const int thread = thread_of_block();
      T upto;
      InclusiveScan(input, upto, operation, total, at);
      output = thread == 0 ? first : operation(first, values_[thread - 1]);
    }

   private:
    template <int Items>
    void scan_items(T (&input)[Items], T (&output)[Items], bool is_inclusive, lockstep::emulator::SourcePlace at) {
      T own = T(), before;
      for (const T& each : input) own = static_cast<T>(own + each);
      ExclusiveSum(own, before, at);
      for (int item = 0; item < Items; ++item) {
        const T upto = static_cast<T>(before + input[item]);
        output[item] = is_inclusive ? upto : before;
        before = upto;
      }
    }

    TempStorage& values_;
  };
}

}  // namespace cub
