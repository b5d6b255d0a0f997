#include "comm/control/hub/call_ledger.hpp"

#include "base/error.hpp"
#include "comm/fingerprints.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using comm::CallLedger;
using comm::Collective;
using test::all_reduce;
using test::message;

namespace {

constexpr int kGroup = 5;

comm::Members ranks(std::vector<int> of_the_job) {
  return std::make_shared<const std::vector<int>>(std::move(of_the_job));
}

const comm::Members kMembers = ranks({3, 7, 8});

}  // namespace

TEST_CASE("ranks agree on a call once the last of them has posted it", "[comm]") {
  CallLedger ledger;
  CHECK(ledger.add(3, kGroup, kMembers, all_reduce(0)).agreements.empty());
  CHECK(ledger.add(3, kGroup, kMembers, all_reduce(1)).agreements.empty());
  CHECK(ledger.add(8, kGroup, kMembers, all_reduce(0)).agreements.empty());
  CHECK(ledger.add(8, kGroup, kMembers, all_reduce(1)).agreements.empty());
  const auto first = ledger.add(7, kGroup, kMembers, all_reduce(0));
  REQUIRE(first.agreements.size() == 3);
  for (const auto& agreement : first.agreements) CHECK(agreement.call == all_reduce(0));
  const auto second = ledger.add(7, kGroup, kMembers, all_reduce(1));
  REQUIRE(second.agreements.size() == 3);
  CHECK(second.agreements[1].rank == 7);
  CHECK(second.agreements[1].call == all_reduce(1));
}

TEST_CASE("a rank that posts something else is named beside the first that posted", "[comm]") {
  CallLedger ledger;
  (void)ledger.add(8, kGroup, kMembers, all_reduce(0));
  const auto verdict = ledger.add(3, kGroup, kMembers, all_reduce(0, 11));
  REQUIRE(verdict.disagreement);
  CHECK(*verdict.disagreement ==
        "ranks called different collectives: rank 8 all_reduce #0 (sum of 10 float32), rank 3 all_reduce #0 (sum of 11 "
        "float32)");
}

TEST_CASE("groups of the same number and other members are apart", "[comm]") {
  CallLedger ledger;
  (void)ledger.add(3, kGroup, ranks({3, 7}), all_reduce(0));
  const auto verdict = ledger.add(8, kGroup, ranks({8}), all_reduce(0, 11));
  CHECK_FALSE(verdict.disagreement);
  CHECK(verdict.agreements.size() == 1);
}

TEST_CASE("both ends of a message agree on it, each as it issued it", "[comm]") {
  CallLedger ledger;
  CHECK(ledger.add(8, kGroup, kMembers, message(Collective::kRecv, 0, 0)).agreements.empty());
  const auto verdict = ledger.add(3, kGroup, kMembers, message(Collective::kSend, 0, 2));
  REQUIRE(verdict.agreements.size() == 2);
  CHECK(verdict.agreements[0].rank == 3);
  CHECK(verdict.agreements[0].call == message(Collective::kSend, 0, 2));
  CHECK(verdict.agreements[1].rank == 8);
  CHECK(verdict.agreements[1].call == message(Collective::kRecv, 0, 0));
  (void)ledger.add(8, kGroup, kMembers, message(Collective::kRecv, 1, 0));
  CHECK(ledger.add(3, kGroup, kMembers, message(Collective::kSend, 1, 2, 5)).disagreement);
}

TEST_CASE("a forgotten group begins again, others go on", "[comm]") {
  CallLedger ledger;
  const comm::Members pair = ranks({3, 7});
  for (const comm::Members& members : {pair, kMembers}) {
    (void)ledger.add(3, kGroup, members, all_reduce(0));
    (void)ledger.add(3, kGroup, members, message(Collective::kSend, 0, 1));
  }
  ledger.forget(kGroup, pair);
  CHECK_FALSE(ledger.add(3, kGroup, pair, all_reduce(0)).disagreement);
  CHECK_FALSE(ledger.add(3, kGroup, pair, message(Collective::kSend, 0, 1)).disagreement);
  CHECK_FALSE(ledger.add(3, kGroup, kMembers, all_reduce(1)).disagreement);
}

TEST_CASE("what cannot have been posted is refused", "[comm]") {
  CallLedger ledger;
  CHECK_THROWS_AS(ledger.add(4, kGroup, kMembers, all_reduce(0)), FormatError);
  CHECK_THROWS_AS(ledger.add(3, kGroup, kMembers, all_reduce(1)), FormatError);
  CHECK_THROWS_AS(ledger.add(3, kGroup, kMembers, message(Collective::kSend, 0, 3)), FormatError);
  CHECK_THROWS_AS(ledger.add(3, kGroup, kMembers, message(Collective::kSend, 0, 0)), FormatError);
}
