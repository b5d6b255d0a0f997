#include <algorithm>

#include "09_sharded/4_unit_window/unit_window.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"next_but_one", "the unit after the next one is prefetched, too far ahead",
     "Prefetch the unit of the very next fetch: order_[position_] once the position has moved on."},
    {"next_by_number", "the unit with the next number is prefetched, whatever the order says",
     "In backward the numbers fall: ask the order."},
    {"first_place_in_order", "the successor of the unit's first place in the order is prefetched",
     "A unit is fetched several times in a pass: position_ says which time this is."},
    {"gathers_again", "a unit is prefetched that is whole already",
     "Backward begins with the units that forward has used last: look whether alive_ contains it."},
    {"releases_previous", "the unit before this one is released at once",
     "What the model has computed with it may still be running: it stays until the next but one is fetched."},
    {"releases_in_flight", "a unit that is on its way is released when another one is fetched",
     "What arrives would be written to memory that is free: release it in the next call."},
    {"forgets_unused", "a unit that was prefetched for nothing stays until the end of the pass",
     "One call later it is neither in use nor in flight: release whatever is not."},
    {"same_unit_ends_use", "if a unit is fetched again, the one before it is no longer in use",
     "Only a different unit moves current_ to previous_."},
    {"end_forgets_prefetched", "end_pass() leaves out the unit that is in flight",
     "A pass may end while a unit is on its way: evaluation does."},
    {"end_keeps_state", "after end_pass() the window goes on as if the units were there",
     "They are released: alive_ is empty, and nothing is in use."},
    {"keeps_old_order", "an unexpected unit does not change the order",
     "Cut the order there, and note what is new: the next pass will do the same."},
    {"changes_one_place", "an unexpected unit takes the place of the expected one, and the rest of the order stays",
     "Cut the order there: what came after the old unit need not come after the new one."},
    {"evaluation_cuts", "a pass that ends early shortens the order",
     "Evaluation is a part of the order: the next pass needs the rest."},
    {"never_prefetches",
     "nothing is ever prefetched: a pass begins with an empty order, or goes on where the last one ended, or the order "
     "is "
     "asked for this fetch instead of the next",
     "begin_pass() keeps the order and puts position_ back to 0; look up what comes next once position_ has moved on."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_mistake;

void WindowPlan::begin_pass() {
  if (is_mistake("never_prefetches")) order_.clear();
  position_ = 0;
}

Moves WindowPlan::on_fetch(std::size_t unit) {
  if (position_ < order_.size() && order_[position_] != unit) {
    if (is_mistake("changes_one_place")) order_[position_] = unit;
    if (!is_mistake("changes_one_place") && !is_mistake("keeps_old_order")) order_.resize(position_);
  }
  if (position_ >= order_.size()) order_.push_back(unit);
  ++position_;

  const std::optional<std::size_t> before_last = previous_;
  if (unit != current_ || is_mistake("same_unit_ends_use")) {
    previous_ = current_;
    current_ = unit;
  }
  Moves moves;
  for (const std::size_t whole : alive_) {
    if (whole == current_ || (whole == previous_ && !is_mistake("releases_previous"))) continue;
    if (whole == in_flight_ && !is_mistake("releases_in_flight")) continue;
    if (is_mistake("forgets_unused") && whole != before_last) continue;
    moves.release.push_back(whole);
  }
  for (const std::size_t released : moves.release) alive_.erase(released);
  alive_.insert(unit);
  in_flight_.reset();

  std::size_t place = position_;
  if (is_mistake("next_but_one")) ++place;
  if (is_mistake("first_place_in_order"))
    place = static_cast<std::size_t>(std::ranges::find(order_, unit) - order_.begin()) + 1;
  if (place >= order_.size()) return moves;
  const std::size_t next = is_mistake("next_by_number") ? unit + 1 : order_[place];
  if (alive_.contains(next) && !is_mistake("gathers_again")) return moves;
  in_flight_ = moves.prefetch = next;
  alive_.insert(next);
  return moves;
}

std::vector<std::size_t> WindowPlan::end_pass() {
  if (is_mistake("evaluation_cuts")) order_.resize(std::min(position_, order_.size()));
  if (is_mistake("end_forgets_prefetched") && in_flight_) alive_.erase(*in_flight_);
  const std::vector<std::size_t> all(alive_.begin(), alive_.end());
  if (is_mistake("end_keeps_state")) return all;
  alive_.clear();
  current_ = previous_ = in_flight_ = std::nullopt;
  return all;
}

}  // namespace lockstep::sharded
