#pragma once
/// @file
/// Starts the ranks of bus_bandwidth: once for all backends but MPI, and once under mpirun.
#include <cstdint>
#include <string>
#include <vector>

#include "03_nccl/measure/bandwidth_report.hpp"
#include "03_nccl/measure/contender.hpp"

namespace lockstep::bandwidth {

/// bus_bandwidth's command line.
struct Options {
  std::vector<std::string> backends = contender_names();  ///< Contenders to measure.
  std::vector<std::string> collectives{"all_reduce"};
  std::int64_t min_bytes = 1024;     ///< Smallest buffer.
  std::int64_t max_bytes = 4 << 20;  ///< Largest buffer.
  std::int64_t factor = 64;          ///< From one buffer to the next.
  int world_size = 2;
  int repeat = 21;  ///< Measured repetitions.
  int warmup = 3;   ///< Repetitions before these.
  std::string dtype = "float32";
  std::string op = "sum";  ///< For reductions.
  /// Of nccl's buffers.
  std::string device = accelerator_type() == DeviceType::kCuda ? "cuda" : "emulated";
  bool share_gpu = false;  ///< Several ranks may share a GPU.
  int spoil = -1;          ///< Rank whose result is corrupted before the check; -1: none.
  std::string json;        ///< File for the record; empty: none.
  std::string results;     ///< In a rank: file for rank 0's report; empty: rank 0 prints.

  /// Options for the backend on the rank with this local rank.
  [[nodiscard]] backend::BackendOptions for_backends(int local_rank) const;
};

/// Runs all jobs and adds their measurements, and the contenders left out, to `report`.
/// @param options  As given by the user.
/// @param report   Is added to.
/// @return  0, or the exit code of the first job that fails; its ranks have printed the reason.
[[nodiscard]] int run_jobs(Options options, Report& report);

}  // namespace lockstep::bandwidth
