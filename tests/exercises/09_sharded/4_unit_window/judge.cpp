#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_09_4 {

using Numbers = std::vector<std::int64_t>;
using Units = std::set<std::int64_t>;

constexpr std::size_t kMost = 3;  // units that are whole or in flight

std::string list_of(const auto& units) {
  std::string text;
  for (const std::int64_t unit : units) text += concat(text.empty() ? "" : ", ", unit);
  return text.empty() ? "none" : text;
}

// The answers of the window, call by call.
class Told {
 public:
  Told(Check& check, Numbers moves) : check_(check), moves_(std::move(moves)) {}

  Numbers released() {
    const std::int64_t count = next();
    Numbers units;
    for (std::int64_t i = 0; i < count; ++i) units.push_back(next());
    return units;
  }
  std::int64_t prefetched() { return next(); }

 private:
  std::int64_t next() {
    check_.expect(place_ < moves_.size(), "the program's answer makes no sense");
    return moves_[place_++];
  }

  Check& check_;
  Numbers moves_;
  std::size_t place_ = 0;
};

// Plays the caller of the window: gathers, waits and releases as it is told, and objects.
class Caller {
 public:
  explicit Caller(Check& check) : check_(check) {}

  void begin_pass() {
    ++pass_;
    fetch_ = 0;
    said_before_.clear();
  }

  void fetch(std::int64_t unit, Told& told) {
    ++fetch_;
    note(unit);
    if (unit != current_) {
      previous_ = current_;
      current_ = unit;
    }
    const Numbers released = told.released();
    for (const std::int64_t other : released) release(other);
    if (alive_.insert(unit).second) ++gathers_;
    for (const std::int64_t other : alive_) {
      if (is_in_use(other) || other == in_flight_) continue;
      wrong(concat("unit ", other, " is neither in use nor in flight, and is not released"),
            "whatever is not in use and not in flight goes when a unit is fetched");
    }
    in_flight_ = kNone;
    prefetch(told.prefetched());
    said_before_ += concat(said_before_.empty() ? "" : " ", unit);
  }

  void end_pass(Told& told) {
    const Numbers released = told.released();
    for (const std::int64_t other : released) {
      if (alive_.erase(other) == 0)
        wrong(concat("at the end of the pass unit ", other, " is released, but it is not there"),
              "end_pass() says each unit once, and only those that are whole or in flight");
    }
    if (!alive_.empty())
      wrong(concat("at the end of the pass not released: ", list_of(alive_),
                   alive_.contains(in_flight_) ? concat(" (", in_flight_, " is in flight)") : ""),
            "end_pass() says all units that are whole or in flight");
    current_ = previous_ = in_flight_ = kNone;
  }

  [[nodiscard]] std::int64_t gathers() const noexcept { return gathers_; }

 private:
  static constexpr std::int64_t kNone = -1;

  [[noreturn]] void wrong(const std::string& what, const std::string& next) {
    const std::string before = said_before_.empty() ? "" : concat(", after ", said_before_);
    check_.wrong(concat("pass ", pass_, ", fetch ", fetch_, " (unit ", current_, before, "): ", what), next);
  }

  [[nodiscard]] bool is_in_use(std::int64_t unit) const { return unit == current_ || unit == previous_; }

  // As the header says: an unexpected unit cuts the record.
  void note(std::int64_t unit) {
    const auto index = static_cast<std::size_t>(fetch_ - 1);
    const bool is_expected = index < order_.size() && order_[index] == unit;
    if (is_expected) return;
    order_.resize(std::min(index, order_.size()));
    order_.push_back(unit);
  }

  void release(std::int64_t unit) {
    if (unit == current_)
      wrong(concat("unit ", unit, " is released, and it is the one that is fetched"), "the model needs it now");
    if (unit == previous_)
      wrong(concat("unit ", unit, " is released, but the model uses it until the next but one is fetched"),
            "the unit before the fetched one is in use; if a unit is fetched again, that does not change");
    if (unit == in_flight_)
      wrong(concat("unit ", unit, " is released while it is in flight: what arrives is written to memory that is free"),
            "it has arrived by the next call of on_fetch(): release it then");
    if (alive_.erase(unit) == 0)
      wrong(concat("unit ", unit, " is released, but it is not there"), "each unit that is whole is released once");
  }

  void prefetch(std::int64_t unit) {
    const bool is_known = static_cast<std::size_t>(fetch_) < order_.size();
    const std::int64_t next = is_known ? order_[static_cast<std::size_t>(fetch_)] : kNone;
    const bool has_room = alive_.size() < kMost;
    const bool is_wanted = is_known && has_room && !alive_.contains(next);
    const std::string fact = is_known ? concat("unit ", next, " comes next in the order of earlier passes")
                                      : std::string("no earlier pass says what comes next");
    if (unit == kNone && !is_wanted) return;
    if (unit == kNone)
      wrong(concat("nothing is prefetched, although ", fact, " and there is room"),
            "the fetch that follows this one in the order is the one to prefetch");
    if (alive_.contains(unit))
      wrong(concat("unit ", unit, " is prefetched, but it is there: it would be gathered twice"),
            "a unit that is whole needs no gather");
    if (unit != next)
      wrong(concat("unit ", unit, " is prefetched; ", fact),
            is_known ? "prefetch the unit of the very next fetch, none that comes later"
                     : "an unexpected unit cuts the order there: what came after the old one need not come now");
    if (!has_room)
      wrong(concat("unit ", unit, " is prefetched while ", list_of(alive_), " are there: that makes four"),
            "one that was prefetched for nothing still takes room");
    alive_.insert(unit);
    in_flight_ = unit;
    ++gathers_;
  }

  Check& check_;
  int pass_ = 0, fetch_ = 0;
  std::string said_before_;  // the fetches of this pass
  Numbers order_;
  Units alive_;  // whole or in flight
  std::int64_t current_ = kNone, previous_ = kNone, in_flight_ = kNone;
  std::int64_t gathers_ = 0;
};

// @param passes  The units that each fetches. @param gathers  How many there should be in all; -1: not known.
void check_passes(Check& check, const std::vector<Numbers>& passes, std::int64_t gathers = -1) {
  Numbers fetches;
  for (const Numbers& pass : passes) {
    fetches.insert(fetches.end(), pass.begin(), pass.end());
    fetches.push_back(-1);
  }
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"fetches", to_message(std::span<const std::int64_t>(fetches))}};
  }});
  Told told(check, check.numbers<std::int64_t>(outcome, 0, "moves"));
  Caller caller(check);
  for (const Numbers& pass : passes) {
    caller.begin_pass();
    for (const std::int64_t unit : pass) caller.fetch(unit, told);
    caller.end_pass(told);
  }
  if (gathers >= 0)
    check.expect(caller.gathers() == gathers, concat(caller.gathers(), " gathers; ", gathers, " are enough"));
}

// Forward and backward through units 0 to last. @param times  How often backward fetches each: 2 if it is recomputed.
Numbers training(std::int64_t last, int times = 1) {
  Numbers pass;
  for (std::int64_t unit = 0; unit <= last; ++unit) pass.push_back(unit);
  for (std::int64_t unit = last; unit >= 0; --unit) pass.insert(pass.end(), static_cast<std::size_t>(times), unit);
  return pass;
}

Numbers prefix(const Numbers& pass, std::ptrdiff_t count) { return {pass.begin(), pass.begin() + count}; }

void check_random_passes(Check& check) {
  PhiloxSequence random(check.seed(), 94);
  for (int round = 0; round < 8; ++round) {
    std::vector<Numbers> passes = {training(static_cast<std::int64_t>(2 + random.next_below(5)))};
    for (int pass = 0; pass < 6; ++pass) {
      Numbers next = passes.back();
      const std::uint64_t change = random.next_below(4);
      const auto place = static_cast<std::ptrdiff_t>(random.next_below(next.size()));
      if (change == 1) next.resize(static_cast<std::size_t>(place) + 1);
      if (change == 2) next[static_cast<std::size_t>(place)] = static_cast<std::int64_t>(random.next_below(8));
      if (change == 3) next.insert(next.begin() + place, static_cast<std::int64_t>(random.next_below(8)));
      passes.push_back(next);
    }
    check_passes(check, passes);
  }
}

}  // namespace checks_09_4

void judge_09_4(Examination& exam) {
  using namespace checks_09_4;
  exam.check("the first pass: what is used no more goes",
             [](Check& check) { check_passes(check, {training(5)}, 6 + 4); });
  exam.check("the second pass: the next unit is prefetched", [](Check& check) {
    check_passes(check, {training(3), training(3), training(3)}, 3 * (4 + 2));
  });
  exam.check("evaluation between passes: a part of the order", [](Check& check) {
    const Numbers pass = training(4);
    check_passes(check, {pass, prefix(pass, 5), pass}, 8 + 5 + 8);
    check_passes(check, {pass, prefix(pass, 2), prefix(pass, 1), pass}, 8 + 3 + 2 + 8);
  });
  exam.check("blocks that are computed twice in backward", [](Check& check) {
    check_passes(check, {training(3, 2), training(3, 2)}, 2 * (4 + 2));
  });
  exam.check("an embedding that is fetched at both ends", [](Check& check) {
    Numbers pass = {0, 1, 2, 3, 0, 0, 3, 2, 1, 0};
    check_passes(check, {pass, pass}, 2 * (4 + 1 + 3));
  });
  exam.check("a unit that nobody expected", [](Check& check) {
    check_passes(check, {{0, 1, 2, 3, 4}, {0, 1, 4, 3, 2}, {0, 1, 4, 3, 2}});
    check_passes(check, {{0, 1, 2, 3, 4, 5}, {0, 1, 5, 0, 2, 3}});
  });
  exam.check("the unit before is fetched in place of the expected one", [](Check& check) {
    check_passes(check, {{0, 1, 2, 3}, {0, 1, 0, 3, 1}, {0, 1, 0, 3, 1}});
    check_passes(check, {{0, 1, 2, 3}, {0, 1, 0, 2, 4}});
  });
  exam.check("one unit alone, and two", [](Check& check) {
    check_passes(check, {training(0), training(0)}, 2);
    check_passes(check, {training(1), training(1)}, 4);
  });
  exam.full_check("random orders and changes", check_random_passes);
}

}  // namespace lockstep::exercise
