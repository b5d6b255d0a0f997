#include "09_sharded/4_unit_window/unit_window.hpp"

namespace lockstep::sharded {

void WindowPlan::begin_pass() {
  // SOLUTION(09.4) begin_pass: the next fetch is the first one of the order
  position_ = 0;
  // END SOLUTION
}

Moves WindowPlan::on_fetch(std::size_t unit) {
  // SOLUTION(09.4) on_fetch: note the unit, then say which units to release and which to prefetch
  if (position_ < order_.size() && order_[position_] != unit) order_.resize(position_);
  if (position_ == order_.size()) order_.push_back(unit);
  ++position_;

  if (unit != current_) {
    previous_ = current_;
    current_ = unit;
  }

  Moves moves;
  for (const std::size_t whole : alive_) {
    if (whole != current_ && whole != previous_ && whole != in_flight_) moves.release.push_back(whole);
  }
  for (const std::size_t released : moves.release) alive_.erase(released);
  alive_.insert(unit);
  in_flight_.reset();  // the caller waits for it in this call, whether it is this unit or not

  // After an unexpected unit the order ends here, so nothing is prefetched.
  if (position_ < order_.size() && !alive_.contains(order_[position_])) {
    in_flight_ = moves.prefetch = order_[position_];
    alive_.insert(*in_flight_);
  }
  return moves;
  // END SOLUTION
}

std::vector<std::size_t> WindowPlan::end_pass() {
  // SOLUTION(09.4) end_pass: all units go, and nothing is in use
  const std::vector<std::size_t> all(alive_.begin(), alive_.end());
  alive_.clear();
  current_.reset();
  previous_.reset();
  in_flight_.reset();
  return all;
  // END SOLUTION
}

}  // namespace lockstep::sharded
