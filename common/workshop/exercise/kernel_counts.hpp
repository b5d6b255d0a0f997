#pragma once
/// @file
/// A kernel's memory accesses as exact counts, never times.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "exercise/subject.hpp"

namespace lockstep::exercise {

/// Loads or stores of one kind of memory. A request is one access by all lanes of a warp together.
struct MemoryCounts {
  std::uint64_t requests = 0;      ///< Of warps.
  std::uint64_t bytes = 0;         ///< Requested by all lanes.
  std::uint64_t transactions = 0;  ///< Device memory: sectors of 32 bytes. Shared memory: passes of its banks.
  std::uint64_t fewest = 0;        ///< The fewest transactions that could serve the same requests.
};

/// Sums over all launches of a run. Atomics count as stores.
struct KernelCounts {
  MemoryCounts loads;          ///< Device memory.
  MemoryCounts stores;         ///< Device memory.
  MemoryCounts shared_loads;   ///< Shared memory.
  MemoryCounts shared_stores;  ///< Shared memory.
  std::uint64_t barriers = 0;  ///< Counted once per block.
  std::uint64_t atomics = 0;   ///< Counted per thread.
};

/// The answer's field for the counts; no exercise uses this name.
inline constexpr const char* kKernelCountsField = "kernel_counts";

/// Puts counts into an answer.
void set_counts(Answer& answer, const KernelCounts& counts);
/// The counts in an answer; none if the kernels ran on a GPU.
/// @throws FormatError  Not in the form that set_counts() writes.
[[nodiscard]] std::optional<KernelCounts> counts_in(const nlohmann::json& answer);

}  // namespace lockstep::exercise
