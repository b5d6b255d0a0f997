#pragma once
/// @file
/// Memory requests of kernels, counted exactly per source line. Never times: the emulator cannot measure them.
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/checker/findings.hpp"
#include "emulator/cuda/lockstep_emulator/export.h"

namespace lockstep::emulator {

/// The accesses of one line of a kernel to one kind of memory.
///
/// A request combines the accesses of a warp's lanes: the k-th time that each lane executes one instruction. In global
/// memory it takes one transaction per 32-byte sector touched. In shared memory it takes as many passes as the busiest
/// of the 32 banks (4 bytes wide) has different words to deliver; 8-byte accesses are served by half warps, 16-byte
/// accesses by quarter warps. `ideal` is the count for the same bytes, contiguous and without conflicts.
struct MetricsRow {
  std::string kernel;
  FindingPlace place;
  std::string operation;           ///< "load", "store", "atomic" or "barrier".
  bool is_shared = false;          ///< Shared memory (passes), else global memory (sectors). Unused for a barrier.
  std::uint64_t requests = 0;      ///< For a barrier: how often a block passed it.
  std::uint64_t lanes = 0;         ///< Accesses of single threads in these requests.
  std::uint64_t bytes = 0;         ///< Requested by all lanes.
  std::uint64_t transactions = 0;  ///< Sectors or passes.
  std::uint64_t ideal = 0;         ///< Minimum for the same bytes.
};

/// All launches since clear_metrics(), sorted by kernel, file, line.
LOCKSTEP_EMULATOR_API std::vector<MetricsRow> metrics();
LOCKSTEP_EMULATOR_API void clear_metrics();
/// A human-readable table; the same rows give the same text.
LOCKSTEP_EMULATOR_API std::string metrics_table(const std::vector<MetricsRow>& rows);

}  // namespace lockstep::emulator
