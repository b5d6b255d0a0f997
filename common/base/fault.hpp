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

/// The environment variable that tells ranks the faults of their job.
inline constexpr const char* kVariable = "LOCKSTEP_INJECT";

/// A fault to inject: which kind, on which rank, in which step.
struct Fault {
  Kind kind = Kind::kKill;
  int rank = 0;  ///< Of the job.
  /// Counted from 1, as in messages and metrics.jsonl. If the kind needs a message, an allocation or a checkpoint, it
  /// hits the first one from the beginning of this step on.
  std::int64_t step = 1;
  std::optional<int> attempt = 0;         ///< Which start of the job, from 0 (the default spares restarts); empty: all.
  std::optional<int> peer = {};           ///< kDrop, kCorrupt: the other rank of the job; empty: the next one sent to.
  std::chrono::duration<double> pause{};  ///< kSlow: added to each step from `step` on.
  double factor = 1;                      ///< kSlow: multiplies the duration of each step from `step` on.
};

/// Parses one fault: words in any order, separated by spaces. `rank=R`, `step=N`, a kind (kill, stop, slow=0.5s,
/// slow=3x, drop, corrupt, disk-full, nan, oom, batch), and optionally `attempt=A` (or `attempt=any`) and `peer=R`.
/// @throws FormatError  Names the wrong or missing word, and lists the valid ones.
[[nodiscard]] Fault parse_fault(std::string_view text);

/// Parses faults separated by ";", as in the variable. Skips empty parts.
/// @throws FormatError  As parse_fault().
[[nodiscard]] std::vector<Fault> parse_faults(std::string_view text);

/// In the form that parse_fault() reads.
[[nodiscard]] std::string to_text(const Fault& fault);

/// "kill, stop, slow=0.5s or slow=3x, drop, ...": for messages and help texts.
[[nodiscard]] std::string list_of_kinds();

/// Whether it can only hit messages that travel over TCP: shared memory has neither connections nor checksums.
[[nodiscard]] bool needs_tcp(Kind kind) noexcept;

}  // namespace lockstep::fault
