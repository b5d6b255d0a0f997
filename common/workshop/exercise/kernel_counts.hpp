#pragma once
/// @file
/// What a kernel asked of memory: exact numbers, and never a time.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "exercise/subject.hpp"

namespace lockstep::exercise {

/// Loads or stores of one kind of memory. A request is what the lanes of a warp ask for together.
struct MemoryCounts {
  std::uint64_t requests = 0;      ///< Of warps.
  std::uint64_t bytes = 0;         ///< That all lanes asked for.
  std::uint64_t transactions = 0;  ///< Device memory: sectors of 32 bytes. Shared memory: passes of its banks.
  std::uint64_t fewest = 0;        ///< The fewest that could serve the same requests.
};

/// All launches of a run together. Atomics count as stores.
struct KernelCounts {
  MemoryCounts loads;          ///< Device memory.
  MemoryCounts stores;         ///< Device memory.
  MemoryCounts shared_loads;   ///< Shared memory.
  MemoryCounts shared_stores;  ///< Shared memory.
  std::uint64_t barriers = 0;  ///< Passed by blocks.
  std::uint64_t atomics = 0;   ///< Of single threads.
};

/// The answer's field that holds them; no exercise has a field of this name.
inline constexpr const char* kKernelCountsField = "kernel_counts";

/// Puts counts into an answer.
void set_counts(Answer& answer, const KernelCounts& counts);
/// The counts of an answer; none where a GPU has run the kernels.
/// @throws FormatError  They are not as set_counts() writes them.
[[nodiscard]] std::optional<KernelCounts> counts_in(const nlohmann::json& answer);

}  // namespace lockstep::exercise
