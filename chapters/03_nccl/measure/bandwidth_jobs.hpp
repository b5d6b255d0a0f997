#pragma once
/// @file
/// How bus_bandwidth starts its ranks: once for all backends but MPI, and once under mpirun.
#include <cstdint>
#include <string>
#include <vector>

#include "03_nccl/measure/bandwidth_report.hpp"
#include "03_nccl/measure/contender.hpp"

namespace lockstep::bandwidth {

/// bus_bandwidth's command line.
struct Options {
  std::vector<std::string> backends = contender_names();  ///< Contenders that are wanted.
  std::vector<std::string> collectives{"all_reduce"};     ///< By name.
  std::int64_t min_bytes = 1024;                          ///< The smallest buffer.
  std::int64_t max_bytes = 4 << 20;                       ///< No buffer is larger.
  std::int64_t factor = 64;                               ///< From one buffer to the next.
  int world_size = 2;                                     ///< Ranks of each job.
  int repeat = 21;                                        ///< Times that count.
  int warmup = 3;                                         ///< Times before.
  std::string dtype = "float32";                          ///< Of the elements.
  std::string op = "sum";                                 ///< Of reductions.
  /// Where nccl's buffers lie.
  std::string device = accelerator_type() == DeviceType::kCuda ? "cuda" : "emulated";
  bool share_gpu = false;  ///< Several ranks may have one GPU.
  int spoil = -1;          ///< The rank whose result is changed before it is checked; -1: none.
  std::string json;        ///< File for the record; empty: none is written.
  std::string results;     ///< In a rank: where rank 0 leaves its report; empty: it prints.

  /// What a backend is made with on the rank of this number on its host.
  [[nodiscard]] backend::BackendOptions for_backends(int local_rank) const;
};

/// Runs all jobs, and adds to `report` what they have measured and who is left out.
/// @param options  Of the program as the user has called it.
/// @param report   Is added to.
/// @return  0, or the exit code of the first job that fails; its ranks have said why.
[[nodiscard]] int run_jobs(Options options, Report& report);

}  // namespace lockstep::bandwidth
