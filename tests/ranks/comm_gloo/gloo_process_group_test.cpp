#include "comm_gloo/gloo_process_group.hpp"

#include "support/catch.hpp"
#include "support/collective_checks.hpp"
#include "support/every_collective_checks.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;

namespace {

const test::GroupFactory kGloo = gloo_backend::make_gloo_process_group;

}  // namespace

TEST_CASE("Gloo reduces every dtype and operation correctly at every world size", "[gloo][multirank]") {
  test::check_all_reduce(kGloo, 100003);
}
// Not promised of Gloo, but seen: its ring adds in an order that only the rank and the count decide.
TEST_CASE("this Gloo's bits are equal on all ranks and in every run", "[gloo][multirank]") {
  test::check_bits_repeat(kGloo);
}
TEST_CASE("NaN propagates through Gloo", "[gloo][multirank]") { test::check_nan_propagates(kGloo); }
TEST_CASE("Gloo broadcasts from every root", "[gloo][multirank]") { test::check_broadcast(kGloo); }
TEST_CASE("nobody leaves Gloo's barrier before the last has entered", "[gloo][multirank]") {
  test::check_barrier(kGloo);
}
TEST_CASE("Gloo runs collectives in issue order", "[gloo][multirank]") { test::check_issue_order(kGloo); }
TEST_CASE("Gloo's ranks that disagree are told who did what", "[gloo][multirank]") { test::check_mismatches(kGloo); }
TEST_CASE("Gloo's ranks that disagree in any collective are told who did what", "[gloo][multirank]") {
  test::check_mismatches_of_every_collective(kGloo);
}
TEST_CASE("a rank that dies is named on all of Gloo's ranks", "[gloo][multirank]") { test::check_death(kGloo); }
TEST_CASE("a collective of Gloo ends at its deadline", "[gloo][multirank]") { test::check_deadline(kGloo); }
TEST_CASE("when rank 0 has left, those who wait in Gloo are told who is missing", "[gloo][multirank]") {
  test::check_rank_0_leaves(kGloo);
}

TEST_CASE("Gloo's other collectives are right for every dtype, operation, root and count", "[gloo][multirank]") {
  test::check_every_collective(kGloo);
}
TEST_CASE("ranks do not deadlock in Gloo on messages larger than the buffers", "[gloo][multirank][large]") {
  test::check_larger_than_buffers(kGloo);
}
TEST_CASE("Gloo works in place", "[gloo][multirank]") { test::check_in_place(kGloo); }
TEST_CASE("grouped calls beside Gloo move at the same time", "[gloo][multirank]") { test::check_grouped_calls(kGloo); }
TEST_CASE("Gloo reduces several buffers as one", "[gloo][multirank]") { test::check_coalesced(kGloo); }
TEST_CASE("a group of Gloo splits into groups", "[gloo][multirank]") { test::check_split(kGloo); }
TEST_CASE("groups split from Gloo groups do not interfere", "[gloo][multirank]") { test::check_nested_splits(kGloo); }
TEST_CASE("Gloo moves objects", "[gloo][multirank]") { test::check_objects(kGloo); }
TEST_CASE("Gloo's deferred calls run in time", "[gloo][multirank]") { test::check_deferred(kGloo); }

TEST_CASE("Gloo refuses an address that its peers could not use", "[gloo]") {
  comm::JobContext context;
  context.world_size = 2;
  context.bind_address = "0.0.0.0";
  CHECK_THROWS_AS(gloo_backend::make_gloo_process_group(context), ContractError);
}
