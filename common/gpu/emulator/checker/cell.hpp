#pragma once
/// @file
/// The checker's record of four bytes (or of one), and the rules that apply to a new access.
#include <cstdint>

#include "emulator/checker/happens_before.hpp"

namespace lockstep::emulator::checker {

/// The last write, and two reads since then that are not ordered: the latest, and one by a thread as distant from it as
/// possible (another block, another warp), so that the next writer is compared with the one that it is not ordered
/// after. Plain reads are kept rather than those of atomics, which race with fewer writes.
struct Cell {
  Access write;  ///< Interval 0: never written. kHostInterval: by the host.
  Access read;   ///< Latest since `write`.
  Access other;  ///< Another read since `write`, or an atomic concurrent with the atomic in `write`.
};

/// The rule that an access violates.
enum class Problem { kNone, kRace, kUninitialised, kNotLanded };

/// The result of visit().
struct Verdict {
  Problem problem = Problem::kNone;  ///< The first rule that is violated.
  Access with{};                     ///< The other access involved.
};

/// Checks one access against a cell, then records it there.
///
/// Shared memory is only valid in its block: accesses of earlier blocks are ignored, and the values that they wrote
/// count as uninitialised.
class CellRules {
 public:
  /// @param is_shared  True for shared memory.
  CellRules(const HappensBefore& order, const Access& access, bool is_shared) noexcept
      : order_(order),
        access_(access),
        thread_(access.thread()),
        alive_from_(is_shared ? order.block_first() : order.launch().ordered_from()),
        written_from_(is_shared ? order.block_first() : kHostInterval) {}

  /// Records the access if it is the most frequent kind: a read of memory that was last written before this launch, and
  /// that a distant thread reads too. It violates no rule. @return  False for other kinds: visit() must follow.
  [[nodiscard]] bool visit_often_read(Cell& cell) const noexcept {
    if (access_.is(kWrite) || cell.write.interval >= alive_from_ || cell.write.interval < written_from_) return false;
    if (access_.is(kAtomic) || cell.write.is(kPending) || cell.other.is(kWrite) ||
        !order_.is_distant(cell.other, thread_, alive_from_))
      return false;
    cell.read = access_;
    return true;
  }

  Verdict visit(Cell& cell) const noexcept {
    // If a thread reads again in the same interval, from the same place, with no write in between (which would have
    // cleared `read`), the verdict is the same as before.
    if (cell.read.packed == access_.packed && cell.read.interval == access_.interval &&
        cell.read.clock == access_.clock) {
      return {};
    }
    return access_.is(kWrite) ? visit_write(cell) : visit_read(cell);
  }

 private:
  [[nodiscard]] bool is_ordered(const Access& before) const noexcept {
    return order_.is_ordered(before, thread_, alive_from_);
  }
  [[nodiscard]] bool conflicts(const Access& before) const noexcept {
    return !is_ordered(before) && !(before.is(kAtomic) && access_.is(kAtomic));
  }
  /// True if this is an atomic that reads a value written by an atomic after a fence, and so is ordered after it: in
  /// the "last block" pattern, the last block may reset the counter with a plain write.
  [[nodiscard]] bool is_handed_on(const Access& before) const noexcept {
    return before.is(kAtomic) && before.is(kReleased) && access_.is(kAtomic) && !access_.is(kStoreOnly);
  }
  [[nodiscard]] Verdict check_contents(const Cell& cell) const noexcept;
  [[nodiscard]] int distance(const Access& from) const noexcept;
  Verdict visit_read(Cell& cell) const noexcept;
  Verdict visit_write(Cell& cell) const noexcept;
  void note_read(Cell& cell) const noexcept;

  const HappensBefore& order_;
  const Access& access_;
  std::uint32_t thread_;
  Interval alive_from_;
  Interval written_from_;
};

inline Verdict CellRules::check_contents(const Cell& cell) const noexcept {
  if (cell.write.interval < written_from_) return {Problem::kUninitialised, {}};
  return {};
}

inline Verdict CellRules::visit_read(Cell& cell) const noexcept {
  Verdict verdict;
  if (cell.write.is(kPending) && cell.write.interval >= written_from_) {
    verdict = {Problem::kNotLanded, cell.write};
  } else if (conflicts(cell.write)) {
    verdict = {Problem::kRace, cell.write};
  } else if (cell.other.is(kWrite) && conflicts(cell.other)) {
    verdict = {Problem::kRace, cell.other};
  } else {
    verdict = check_contents(cell);
  }
  note_read(cell);
  return verdict;
}

inline Verdict CellRules::visit_write(Cell& cell) const noexcept {
  Verdict verdict;
  for (const Access* const before : {&cell.write, &cell.read, &cell.other}) {
    if (!conflicts(*before)) continue;
    verdict = {Problem::kRace, *before};
    break;
  }
  const bool reads_too = access_.is(kAtomic) && !access_.is(kStoreOnly);
  if (verdict.problem == Problem::kNone && reads_too) verdict = check_contents(cell);
  if (access_.is(kAtomic) && cell.write.is(kAtomic) && !is_ordered(cell.write) && !is_handed_on(cell.write)) {
    cell.other = cell.write;
  } else if (!(access_.is(kAtomic) && cell.other.is(kWrite) && !is_ordered(cell.other))) {
    cell.other = {};
  }
  cell.read = {};
  cell.write = access_;
  return verdict;
}

inline int CellRules::distance(const Access& from) const noexcept {
  if (from.interval < order_.block_first()) return 3;
  return from.thread() / 32 != thread_ / 32 ? 2 : 1;
}

inline void CellRules::note_read(Cell& cell) const noexcept {
  const bool is_last_plain = !cell.read.is(kAtomic), is_other_plain = !cell.other.is(kAtomic);
  if (access_.is(kAtomic) && is_last_plain && !is_other_plain && !cell.other.is(kWrite) && !is_ordered(cell.read)) {
    cell.other = cell.read;
    cell.read = access_;
    return;
  }
  // Usually another thread's read, as distant as any could be, is kept already. Then the latest is no more distant.
  if (order_.is_distant(cell.other, thread_, alive_from_)) {
    cell.read = access_;
    return;
  }
  const Access& last = cell.read;
  const bool is_same_thread = last.interval >= order_.block_first() && last.interval != 0 && last.thread() == thread_;
  if (!is_same_thread) {
    const bool keeps_other = cell.other.interval != 0 && !is_ordered(cell.other);
    if (!is_ordered(last)) {
      const bool is_better = is_last_plain || !is_other_plain;
      if (!keeps_other || (is_better && !cell.other.is(kWrite) && distance(cell.other) < distance(last)))
        cell.other = last;
    } else if (!keeps_other) {
      cell.other = {};
    }
  }
  cell.read = access_;
}

}  // namespace lockstep::emulator::checker
