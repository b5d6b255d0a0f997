// The record of a pass.
#include "09_sharded/shard/fetch_order.hpp"

#include <optional>
#include <vector>

#include "support/catch.hpp"

using namespace lockstep;
using sharded::FetchOrder;

namespace {

using Next = std::optional<std::size_t>;

std::vector<Next> pass(FetchOrder& order, const std::vector<std::size_t>& units) {
  order.begin_pass();
  std::vector<Next> next;
  for (const std::size_t unit : units) next.push_back(order.note_fetch(unit));
  return next;
}

constexpr Next kNone = std::nullopt;

}  // namespace

TEST_CASE("the first pass says what comes next in the second", "[sharded]") {
  FetchOrder order;
  CHECK(pass(order, {5, 1, 2, 5}) == std::vector<Next>{kNone, kNone, kNone, kNone});
  CHECK(pass(order, {5, 1, 2, 5}) == std::vector<Next>{1, 2, 5, kNone});
}

TEST_CASE("a shorter pass leaves the record as it was", "[sharded]") {
  FetchOrder order;
  (void)pass(order, {0, 1, 2, 3});
  CHECK(pass(order, {0, 1}) == std::vector<Next>{1, 2});
  CHECK(pass(order, {0, 1, 2, 3}) == std::vector<Next>{1, 2, 3, kNone});
}

TEST_CASE("a pass that goes another way is the record from there on", "[sharded]") {
  FetchOrder order;
  (void)pass(order, {0, 1, 2, 3});
  CHECK(pass(order, {0, 2, 4}) == std::vector<Next>{1, kNone, kNone});
  CHECK(pass(order, {0, 2, 4}) == std::vector<Next>{2, 4, kNone});
}

TEST_CASE("reductions stand in the record, and are no fetches", "[sharded]") {
  FetchOrder order;
  order.begin_pass();
  (void)order.note_fetch(1);
  order.note_reduction(2);
  (void)order.note_fetch(0);
  CHECK(std::vector<FetchOrder::Event>(order.events().begin(), order.events().end()) ==
        std::vector<FetchOrder::Event>{{1, false}, {2, true}, {0, false}});
  order.begin_pass();
  CHECK(order.note_fetch(1) == Next(0));
}
