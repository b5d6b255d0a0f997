// The cost of the emulator's engine: nanoseconds of this machine per thread and barrier, shuffle, atomic, thread,
// launch. They say how long tests take, nothing about a GPU. Prints one line per measurement: name, block size,
// nanoseconds.
#include <cuda_runtime.h>
#include <time.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <limits>
#include <stdexcept>

#include "emulator/engine/execution.hpp"

namespace {

using lockstep::emulator::execute;
using lockstep::emulator::KernelCall;

constexpr int kTrials = 7;

/// Processor time of this thread, so that programs beside it count less.
double now() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_of(const KernelCall& call) {
  const double begin = now();
  if (const auto result = execute(call, 0); !result.is_ok) throw std::runtime_error(result.message);
  return now() - begin;
}

/// The shortest of several trials: other programs only add.
template <typename Body>
void measure(const char* name, unsigned blocks, unsigned threads, double events_per_thread, Body body) {
  KernelCall call;
  call.grid = blocks;
  call.block = threads;
  call.body = body;
  double shortest = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < kTrials; ++trial) shortest = std::min(shortest, seconds_of(call));
  const double events = events_per_thread * blocks * threads;
  std::cout << std::left << std::setw(28) << name << std::right << std::setw(6) << threads << std::fixed
            << std::setprecision(1) << std::setw(10) << shortest * 1e9 / events << " ns\n";
}

}  // namespace

int main() {
  constexpr int kRounds = 200;
  static unsigned counter = 0;
  for (const unsigned threads : {32U, 256U, 1024U}) {
    measure("empty thread", 2048, threads, 1, [] {});
    measure("thread and barrier", 8, threads, kRounds, [] {
      for (int round = 0; round < kRounds; ++round) __syncthreads();
    });
    measure("thread and shuffle", 8, threads, kRounds, [] {
      float value = static_cast<float>(threadIdx.x);
      for (int round = 0; round < kRounds; ++round) value += __shfl_xor_sync(0xffffffffU, value, 1 + round % 16);
      if (value < 0) ++counter;  // never: keeps the value alive
    });
    measure("thread and atomic", 8, threads, kRounds, [] {
      for (int round = 0; round < kRounds; ++round) atomicAdd(&counter, 1U);
    });
  }
  measure("launch of one thread", 1, 1, 1, [] {});
}
