#pragma once
/// @file
/// What the checker remembers of four bytes (or of one), and the rules that a new access is held against.
#include <cstdint>

#include "emulator/checker/happens_before.hpp"

namespace lockstep::emulator::checker {

/// The last write, and two reads since that no one ordered: the latest, and one by a thread as far from it as possible
/// (another block, another warp), so that whoever writes next finds the one that it is not ordered after.
struct Cell {
  Access write;  ///< Interval 0: nothing was ever written. kHostInterval: by the host.
  Access read;   ///< Latest since `write`.
  Access other;  ///< Another read since `write`, or an atomic beside the atomic in `write`.
};

/// What is wrong with an access.
enum class Problem { kNone, kRace, kUninitialised, kNotLanded };

/// The answer of visit().
struct Verdict {
  Problem problem = Problem::kNone;  ///< The first rule that is broken.
  Access with{};                     ///< The access that it is broken with.
};

/// Holds one access against a cell, then records it there.
///
/// Memory of a block dies with it: for shared memory, accesses of earlier blocks count as none, and what they wrote is
/// uninitialised.
class CellRules {
 public:
  /// @param is_shared  Whether the memory is the block's.
  CellRules(const HappensBefore& order, const Access& access, bool is_shared) noexcept
      : order_(order),
        access_(access),
        thread_(access.thread()),
        alive_from_(is_shared ? order.block_first() : order.launch_first()),
        written_from_(is_shared ? order.block_first() : kHostInterval) {}

  /// Checks and records.
  Verdict visit(Cell& cell) const noexcept {
    // A thread that comes again in the same interval, with nobody in between, breaks no rule that it has not broken.
    return access_.is(kWrite) ? visit_write(cell) : visit_read(cell);
  }

 private:
  [[nodiscard]] bool is_ordered(const Access& before) const noexcept {
    return order_.is_ordered(before, thread_, alive_from_);
  }
  [[nodiscard]] bool conflicts(const Access& before) const noexcept {
    return !is_ordered(before) && !(before.is(kAtomic) && access_.is(kAtomic));
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

}  // namespace lockstep::emulator::checker
