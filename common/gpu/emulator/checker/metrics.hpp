#pragma once
/// @file
/// What kernels ask of memory, counted exactly per source line. Never a time: the emulator knows none.
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/checker/findings.hpp"
#include "emulator/cuda/lockstep_emulator/export.h"

namespace lockstep::emulator {

/// What one line of a kernel does to one kind of memory.
///
/// A request is what the lanes of a warp ask for together: the k-th time that each lane executes one instruction. For
/// global memory it takes as many sectors of 32 bytes as it touches; for shared memory as many passes as the busiest of
/// the 32 banks (4 bytes wide) has different words to give, where 8-byte accesses go by half warps and 16-byte accesses
/// by quarter warps. `ideal` is what the same bytes would take side by side and without conflicts.
struct MetricsRow {
  std::string kernel;              ///< Its name.
  FindingPlace place;              ///< File and line.
  std::string operation;           ///< "load", "store", "atomic" or "barrier".
  bool is_shared = false;          ///< Shared memory (passes), else global memory (sectors). Meaningless for a barrier.
  std::uint64_t requests = 0;      ///< For a barrier: how often a block passed it.
  std::uint64_t lanes = 0;         ///< Accesses of single threads in these requests.
  std::uint64_t bytes = 0;         ///< That all lanes asked for.
  std::uint64_t transactions = 0;  ///< Sectors or passes.
  std::uint64_t ideal = 0;         ///< The fewest that could serve the same bytes.
};

/// All launches since clear_metrics(), sorted by kernel, file, line.
LOCKSTEP_EMULATOR_API std::vector<MetricsRow> metrics();
/// Forgets them.
LOCKSTEP_EMULATOR_API void clear_metrics();
/// A table for people; the same rows give the same text.
LOCKSTEP_EMULATOR_API std::string metrics_table(const std::vector<MetricsRow>& rows);

}  // namespace lockstep::emulator
