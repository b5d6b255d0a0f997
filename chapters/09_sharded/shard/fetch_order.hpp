#pragma once
/// @file
/// The order in which a pass through the model needs its units.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace lockstep::sharded {

/// Learns in one pass what the next one will do, and says which unit comes next. A pass is a training step, or one
/// batch of an evaluation. Where a pass goes another way than the record says, the record is cut off there and
/// continued with what happens, so that a change of the model, or a recomputation, is no special case.
///
/// The reductions are in the record too: a rank without data has to issue all collectives of the others, in their
/// order.
class FetchOrder {
 public:
  /// A unit is fetched because a value of it is needed, or its gradients leave.
  struct Event {
    std::size_t unit = 0;
    bool is_reduction = false;
    bool operator==(const Event&) const = default;
  };

  /// The next event is the first of a pass.
  void begin_pass() noexcept { position_ = 0; }

  /// Notes that `unit` is fetched now.
  /// @return  The unit that the record says will be fetched next; empty: not known, or none is.
  std::optional<std::size_t> note_fetch(std::size_t unit) {
    note({unit, false});
    for (std::size_t next = position_; next < events_.size(); ++next)
      if (!events_[next].is_reduction) return events_[next].unit;
    return std::nullopt;
  }

  /// Notes that the gradients of `unit` leave now.
  void note_reduction(std::size_t unit) { note({unit, true}); }

  /// The last pass, and what earlier ones have done after it ended.
  [[nodiscard]] std::span<const Event> events() const noexcept { return events_; }

 private:
  void note(Event event) {
    if (position_ == events_.size() || events_[position_] != event) {
      events_.resize(position_);
      events_.push_back(event);
    }
    ++position_;
  }

  std::vector<Event> events_;
  std::size_t position_ = 0;
};

}  // namespace lockstep::sharded
