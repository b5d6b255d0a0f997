#include "01_mini_all_reduce/star_process_group.hpp"

#include "support/catch.hpp"
#include "support/collective_checks.hpp"
#include "support/every_collective_checks.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using comm::JobContext;

namespace {

const test::GroupFactory kStar = [](JobContext context) { return star::make_star_process_group(std::move(context)); };
// Segments of 8 elements at most, so that small counts make many.
const test::GroupFactory kSmallSegments = [](JobContext context) {
  return star::make_star_process_group(std::move(context), {.segment_bytes = 36});
};

}  // namespace

TEST_CASE("the star reduces every dtype and operation correctly at every world size", "[star][chapter][multirank]") {
  test::check_all_reduce(kStar, 100003);
}
TEST_CASE("the star reduces correctly in many segments", "[star][chapter][multirank]") {
  test::check_all_reduce(kSmallSegments, 0);
}
TEST_CASE("the star's bits are equal on all ranks and in every run", "[star][chapter][multirank]") {
  test::check_bits_repeat(kStar);
  test::check_bits_repeat(kSmallSegments);
}
TEST_CASE("NaN propagates through the star", "[star][chapter][multirank]") { test::check_nan_propagates(kStar); }
TEST_CASE("the star broadcasts from every root", "[star][chapter][multirank]") {
  test::check_broadcast(kStar);
  test::check_broadcast(kSmallSegments);
}
TEST_CASE("nobody leaves the star's barrier before the last has entered", "[star][chapter][multirank]") {
  test::check_barrier(kStar);
}
TEST_CASE("the star runs collectives in issue order", "[star][chapter][multirank]") { test::check_issue_order(kStar); }
TEST_CASE("ranks of a star that disagree are told who did what", "[star][chapter][multirank]") {
  test::check_mismatches(kStar);
}
TEST_CASE("a rank that dies is named on all ranks of a star", "[star][chapter][multirank]") {
  test::check_death(kStar);
}
TEST_CASE("a star's collective ends at its deadline", "[star][chapter][multirank]") { test::check_deadline(kStar); }

TEST_CASE("the star's other collectives are right for every dtype, operation, root and count",
          "[star][chapter][multirank]") {
  test::check_every_collective(kStar);
  test::check_every_collective(kSmallSegments);
}
TEST_CASE("the star's collectives are right with a million elements", "[star][chapter][multirank][large]") {
  test::check_every_collective_at_scale(kStar);
}
TEST_CASE("ranks of a star do not deadlock on messages larger than the buffers", "[star][chapter][multirank][large]") {
  test::check_larger_than_buffers(kStar);
}
TEST_CASE("the star works in place", "[star][chapter][multirank]") { test::check_in_place(kStar); }
TEST_CASE("grouped calls of a star move at the same time", "[star][chapter][multirank]") {
  test::check_grouped_calls(kStar);
}
TEST_CASE("the star reduces several buffers as one", "[star][chapter][multirank]") { test::check_coalesced(kStar); }
TEST_CASE("after rank 0 of a star has left, a rank that waits for it is told so", "[star][chapter][multirank]") {
  test::check_rank_0_leaves(kStar);
}
TEST_CASE("a star splits into stars", "[star][chapter][multirank]") { test::check_split(kStar); }
TEST_CASE("stars split from stars do not interfere", "[star][chapter][multirank]") { test::check_nested_splits(kStar); }
TEST_CASE("the star moves objects", "[star][chapter][multirank]") { test::check_objects(kStar); }
TEST_CASE("a star's deferred calls run in time", "[star][chapter][multirank]") { test::check_deferred(kStar); }
TEST_CASE("ranks of a star that disagree in any collective are told who did what", "[star][chapter][multirank]") {
  test::check_mismatches_of_every_collective(kStar);
}

TEST_CASE("ranks of a star that make the same call with different tags are told so", "[star][chapter][multirank]") {
  test::check_tags(kStar);
}
TEST_CASE("a star refuses at once the dtypes that it cannot reduce", "[star][chapter][multirank]") {
  test::check_irreducible(kStar);
}

TEST_CASE("the centre of a star sends P - 1 times what any other rank sends", "[star][chapter][multirank]") {
  const auto sent = test::run_ranks_for<std::uint64_t>(4, [](JobContext context) {
    const auto group = star::make_star_process_group(std::move(context));
    std::vector<float> values(1000);
    group->all_reduce(comm::host_buffer(std::span(values))).synchronize();
    return group->traffic_sent().payload_bytes;
  });
  CHECK(sent == std::vector<std::uint64_t>{12000, 4000, 4000, 4000});
}
