#pragma once
/// @file
/// Faults on demand as text: "rank=2 step=50 kill".
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault_point.hpp"

namespace lockstep::fault {

/// The variable in which ranks find the faults of their job.
inline constexpr const char* kVariable = "LOCKSTEP_INJECT";

/// Something that is to go wrong: what, on which rank, in which step.
struct Fault {
  Kind kind = Kind::kKill;  ///< What.
  int rank = 0;             ///< Of the job.
  /// From 1, as messages and metrics.jsonl count. Where the kind needs a message, an allocation or a checkpoint, it
  /// happens to the first one from the beginning of this step on.
  std::int64_t step = 1;
  std::optional<int> attempt =
      0;  ///< Which start of the job, from 0; empty: every one. Unless told, restarts are spared.
  std::optional<int> peer = {};  ///< kDrop, kCorrupt: with whom, a rank of the job; empty: whoever is sent to next.
  std::chrono::duration<double> pause{};  ///< kSlow: added to each step from `step` on.
  double factor = 1;                      ///< kSlow: how many times as long each step takes from `step` on.
};

/// Reads one fault: words in any order, with spaces between them. `rank=R`, `step=N`, a kind (kill, stop, slow=0.5s,
/// slow=3x, drop, corrupt, disk-full, nan, oom), and optionally `attempt=A` (or `attempt=any`) and `peer=R`.
/// @throws FormatError  Names the word that is wrong or missing, and lists what would be right.
[[nodiscard]] Fault parse_fault(std::string_view text);

/// Faults with ";" between them, as in the variable. Empty parts are skipped.
/// @throws FormatError  As parse_fault().
[[nodiscard]] std::vector<Fault> parse_faults(std::string_view text);

/// As it would be typed; parse_fault() reads it.
[[nodiscard]] std::string to_text(const Fault& fault);

/// "kill, stop, slow=0.5s or slow=3x, drop, ...": for messages and help texts.
[[nodiscard]] std::string list_of_kinds();

/// Whether it can only happen to messages that travel over TCP: shared memory has neither connections nor checksums.
[[nodiscard]] bool needs_tcp(Kind kind) noexcept;

}  // namespace lockstep::fault
