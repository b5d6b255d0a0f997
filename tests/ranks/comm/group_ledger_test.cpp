#include "comm/control/hub/group_ledger.hpp"

#include "comm/fingerprints.hpp"
#include "comm/reports.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::Collective;
using comm::GroupKey;
using comm::GroupLedger;
using comm::Members;
using test::all_reduce;
using test::in_call;
using test::in_message;
using test::message;

TEST_CASE("ranks that ended or never entered a collective are told apart from those that run it", "[comm]") {
  GroupLedger ledger(4);
  ledger.report(0, in_call(0, all_reduce(7), 2s));
  ledger.report(2, in_call(0, all_reduce(7), 3s));
  ledger.report(3, in_call(0, all_reduce(6), 9s));
  const auto running = ledger.running_collectives();
  REQUIRE(running.size() == 1);
  const auto& [group, by_sequence] = *running.begin();
  REQUIRE(by_sequence.size() == 2);
  CHECK(by_sequence.at(7).rank == 0);
  CHECK(by_sequence.at(7).longest == 3s);
  CHECK(ledger.missing_ranks(group, 7) == std::vector{1, 3});
  CHECK(ledger.missing_ranks(group, 6) == std::vector{1});
}

TEST_CASE("only ranks that registered the same members mean the same group", "[comm]") {
  GroupLedger ledger(4);
  for (const int rank : {0, 1}) ledger.register_group(rank, 5, {0, 1});
  for (const int rank : {2, 3}) ledger.register_group(rank, 5, {2, 3});
  ledger.report(0, in_call(5, all_reduce(0), 1s));
  ledger.report(2, in_call(5, all_reduce(0), 1s));
  CHECK(ledger.group_of(0, 5) == ledger.group_of(1, 5));
  CHECK(ledger.group_of(0, 5) != ledger.group_of(2, 5));
  CHECK(ledger.running_collectives().size() == 2);
  CHECK(ledger.status_in(ledger.group_of(0, 5), 2) == nullptr);
  CHECK(ledger.missing_ranks(ledger.group_of(0, 5), 0) == std::vector{1});
}

TEST_CASE("a destroyed group is remembered until all its members have destroyed it or left", "[comm]") {
  GroupLedger ledger(3);
  for (const int rank : {0, 1, 2}) ledger.register_group(rank, 5, {2, 0, 1});
  const GroupKey group = ledger.group_of(0, 5);
  const comm::RankStatus last = in_call(5, all_reduce(3), 0s);
  CHECK(ledger.forget_group(0, 5, last) == nullptr);
  CHECK(ledger.how_it_left(group, 0) == "has destroyed its group");
  REQUIRE(ledger.status_in(group, 0) != nullptr);
  CHECK(ledger.status_in(group, 0)->issued == all_reduce(3));
  CHECK(ledger.status(0).empty());
  CHECK(ledger.status_with_destroyed(0).size() == 1);
  ledger.leave(1, {});
  CHECK(ledger.how_it_left(group, 1) == "has left");
  const Members forgotten = ledger.forget_group(2, 5, last);
  REQUIRE(forgotten != nullptr);
  CHECK(forgotten == group.members);
  CHECK(ledger.group_of(0, 5).members == ledger.everybody());
  CHECK(ledger.status_with_destroyed(0).empty());
}

TEST_CASE("a message waits for the rank at its other end until that one has begun its part", "[comm]") {
  GroupLedger ledger(3);
  for (const int rank : {0, 2}) ledger.register_group(rank, 5, {2, 0});  // rank 0 of the job is rank 1 in the group
  const comm::PairStatus receive{message(Collective::kRecv, 1, 0), 4s};
  CHECK(ledger.missing_peer(0, 5, receive) == 2);
  comm::RankStatus sender;
  sender[5].begun[{Collective::kSend, 1}] = 1;  // number 0 only
  ledger.report(2, sender);
  CHECK(ledger.missing_peer(0, 5, receive) == 2);
  sender[5].begun[{Collective::kSend, 1}] = 2;
  ledger.report(2, sender);
  CHECK(ledger.missing_peer(0, 5, receive) == -1);
}

TEST_CASE("ranks that all receive first wait in a circle, those of a chain do not", "[comm]") {
  GroupLedger ledger(3);
  const comm::PairStatus from_1{message(Collective::kRecv, 0, 1), 4s};
  ledger.report(0, in_message(0, from_1));
  ledger.report(1, in_message(0, {message(Collective::kRecv, 0, 2), 4s}));
  CHECK_FALSE(ledger.is_in_circle(0, 0, from_1));
  ledger.report(2, in_message(0, {message(Collective::kRecv, 0, 0), 4s}));
  CHECK(ledger.is_in_circle(0, 0, from_1));
}
