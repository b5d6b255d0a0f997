#include "comm/control/hub/roster.hpp"

#include "support/catch.hpp"

using namespace std::chrono_literals;
using lockstep::comm::Roster;

namespace {

const Roster::Clock::time_point kStart{};

Roster with_all_joined(int world_size) {
  Roster roster(world_size, 10s, kStart);
  for (int rank = 0; rank < world_size; ++rank) roster.join(rank, kStart);
  return roster;
}

}  // namespace

TEST_CASE("a roster is complete once every rank has joined, each once", "[comm]") {
  Roster roster(3, 10s, kStart);
  CHECK_FALSE(roster.expects(-1));
  CHECK_FALSE(roster.expects(3));
  roster.join(1, kStart);
  CHECK_FALSE(roster.expects(1));
  CHECK(roster.missing() == std::vector{0, 2});
  roster.join(0, kStart);
  roster.join(2, kStart);
  CHECK(roster.is_complete());
  CHECK(roster.missing().empty());
}

TEST_CASE("a rank that is gone has joined, and does not join again", "[comm]") {
  Roster roster = with_all_joined(2);
  roster.disconnect(1);
  roster.disconnect(1);  // seen twice, counted once
  CHECK(roster.is_complete());
  CHECK_FALSE(roster.expects(1));
  CHECK_FALSE(roster.is_connected(1));
  CHECK_FALSE(roster.are_all_gone());
  roster.disconnect(0);
  CHECK(roster.are_all_gone());
}

TEST_CASE("a connected rank that says nothing for longer than the limit is silent", "[comm]") {
  Roster roster = with_all_joined(3);
  roster.disconnect(0);
  roster.hear(2, kStart + 5s);
  CHECK_FALSE(roster.first_silent(kStart + 10s));
  const auto silent = roster.first_silent(kStart + 11s);
  REQUIRE(silent);
  CHECK(silent->rank == 1);
  CHECK(silent->silence == 11s);
}

TEST_CASE("a hub that was stopped itself blames nobody for the silence", "[comm]") {
  Roster roster = with_all_joined(2);
  roster.note_step(kStart + 4s);
  roster.note_step(kStart + 8s);  // steps no longer than half the limit apart: the hub was there all the time
  CHECK(roster.first_silent(kStart + 11s));
  roster.note_step(kStart + 14s);
  CHECK_FALSE(roster.first_silent(kStart + 14s));
  CHECK(roster.first_silent(kStart + 25s));
}
