#pragma once
/// @file
/// Given: the window of stage 3 for exercise 09.4, which says which units are whole on a rank at any time.
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "exercise/todo.hpp"

namespace lockstep::sharded {

/// The moves when a unit is fetched.
struct Moves {
  std::vector<std::size_t> release;     ///< These units' memory is freed, in any order. Done first.
  std::optional<std::size_t> prefetch;  ///< This unit's gather is issued, and not waited for. Done last.
};

/// Decides which units are whole. It owns no memory and sends nothing: its caller does that.
///
/// A *pass* is forward and backward through a micro-batch, or forward alone to evaluate. In a pass the model fetches
/// units one after another, and uses each until it has fetched the next but one, so the unit that is fetched and the
/// different one before it are *in use*. For each fetch the caller calls on_fetch(), and then, in this order:
///
/// 1. releases what it is told to;
/// 2. if the unit is not there and not on its way, issues its gather; waits for all gathers that have been issued;
/// 3. issues the gather of the unit that it is told to prefetch.
///
/// So a unit that has been prefetched is *in flight* until the call of on_fetch() after the next one, and must not be
/// released before. At the end of a pass the caller waits for all gathers, and then releases what end_pass() says.
///
/// All ranks have to issue the same gathers in the same order, so nothing but the order of fetches may decide.
/// Thread safety: one thread.
class WindowPlan {
 public:
  /// The next fetch is the first of a pass.
  /// @pre  No unit is whole.
  void begin_pass();

  /// The model fetches `unit`.
  ///
  /// Releases every unit that is neither in use nor in flight. Prefetches the unit that comes after this fetch in the
  /// order of earlier passes, unless that unit is whole. So never more than three are whole or in flight.
  ///
  /// The order: fetch number k of a pass should be fetch number k of the recorded order. If it is another unit, the
  /// record is cut there, and goes on with what is new. A pass that ends early leaves the rest of the record as it is.
  [[nodiscard]] Moves on_fetch(std::size_t unit);

  /// The pass is over. @return  All units that are whole or in flight.
  [[nodiscard]] std::vector<std::size_t> end_pass();

 private:
  std::vector<std::size_t> order_;                 // units in the order in which passes fetch them
  std::size_t position_ = 0;                       // in order_: the next fetch of this pass
  std::set<std::size_t> alive_;                    // units that are whole or in flight
  std::optional<std::size_t> current_, previous_;  // in use: fetched last, and the different unit before it
  std::optional<std::size_t> in_flight_;           // prefetched by the last call of on_fetch()
};

}  // namespace lockstep::sharded
