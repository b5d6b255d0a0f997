#include "exercise/alternatives.hpp"

#include <algorithm>
#include <iterator>

#include "09_sharded/4_unit_window/unit_window.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"subtracts_sets", "what is released is the difference of two sets, from the highest unit to the lowest"},
    {"begins_at_the_end",
     "begin_pass() clears everything and end_pass() nothing, and the order is cut after the fetch"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_alternative;

void WindowPlan::begin_pass() {
  alive_.clear();
  current_ = previous_ = in_flight_ = std::nullopt;
  position_ = 0;
}

Moves WindowPlan::on_fetch(std::size_t unit) {
  std::set<std::size_t> kept = {unit};
  const std::optional<std::size_t> other = current_ == unit ? previous_ : current_;
  if (other) kept.insert(*other);
  previous_ = other;
  current_ = unit;
  if (in_flight_) kept.insert(*in_flight_);
  in_flight_ = std::nullopt;
  Moves moves;
  if (is_alternative("subtracts_sets")) {
    std::ranges::set_difference(alive_, kept, std::back_inserter(moves.release));
    std::ranges::reverse(moves.release);
    std::set<std::size_t> left = {unit};
    std::ranges::set_intersection(alive_, kept, std::inserter(left, left.end()));
    alive_ = left;
  } else {
    alive_.insert(unit);
    std::erase_if(alive_, [&](std::size_t whole) {
      if (kept.contains(whole)) return false;
      moves.release.push_back(whole);
      return true;
    });
  }
  const bool is_expected = position_ < order_.size() && order_[position_] == unit;
  if (!is_expected) {
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(position_), order_.end());
    order_.push_back(unit);
  }
  if (++position_ == order_.size()) return moves;
  if (!alive_.insert(order_[position_]).second) return moves;
  in_flight_ = order_[position_];
  moves.prefetch = in_flight_;
  return moves;
}

std::vector<std::size_t> WindowPlan::end_pass() {
  return is_alternative("subtracts_sets") ? std::vector<std::size_t>(alive_.rbegin(), alive_.rend())
                                          : std::vector<std::size_t>(alive_.begin(), alive_.end());
}

}  // namespace lockstep::sharded
