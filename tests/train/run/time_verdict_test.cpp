#include "run/time_verdict.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace lockstep::run;

namespace {

RankSummary rank_of(int rank, double duration, double data_wait, double exposed) {
  using Milliseconds = RankSummary::Milliseconds;
  return {.rank = rank,
          .duration = Milliseconds(duration),
          .data_wait = Milliseconds(data_wait),
          .exposed_communication = Milliseconds(exposed)};
}

std::string verdict(const std::vector<RankSummary>& ranks) { return time_verdict(ranks); }

}  // namespace

TEST_CASE("late data are named as the cause if they are most of the lateness", "[run]") {
  CHECK(verdict({rank_of(0, 100, 1, 21), rank_of(1, 100, 20, 1)}) ==
        "11 % of each step was waiting for other ranks; rank 1 came last, by 20.0 ms a step, because its data came "
        "late.");
}

TEST_CASE("a rank that computes for longer came last, for a reason that nobody measured", "[run]") {
  CHECK(verdict({rank_of(0, 100, 1, 1), rank_of(1, 100, 1, 25), rank_of(2, 100, 3, 25)}) ==
        "17 % of each step was waiting for other ranks; rank 0 came last, by 24.0 ms a step.");
  CHECK(verdict({rank_of(0, 100, 1, 21), rank_of(1, 100, 11, 1)}) ==  // the data explain only half of it
        "11 % of each step was waiting for other ranks; rank 1 came last, by 20.0 ms a step.");
}

TEST_CASE("where ranks are alike, none came last", "[run]") {
  CHECK(verdict({rank_of(0, 100, 1, 5.5), rank_of(1, 100, 1, 4.5)}) == "5 % of each step was waiting for other ranks.");
  CHECK(verdict({rank_of(0, 100, 1, 0.5), rank_of(1, 100, 1, 0.5)}) ==
        "less than 1 % of each step was waiting for other ranks.");
  CHECK_FALSE(last_rank(std::vector{rank_of(0, 100, 1, 5)}));
}

TEST_CASE("a single rank waits for data only, and without steps there is nothing to say", "[run]") {
  CHECK(verdict({rank_of(0, 50, 6, 0)}) == "12 % of each step was waiting for data.");
  CHECK(verdict({rank_of(0, 0, 0, 0)}).empty());
  CHECK(verdict({}).empty());
}
