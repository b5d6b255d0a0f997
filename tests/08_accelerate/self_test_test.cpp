// The self-test passes if ranks train together, and fails if they do not.
#include "08_accelerate/process/self_test.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using accelerate::SelfTestResult;

TEST_CASE("the self-test passes on any number of ranks", "[accelerate][multirank]") {
  const int world_size = GENERATE(1, 2, 3);
  const std::string backend = GENERATE("star", "ring", "auto");
  const auto results = test::run_ranks_for<SelfTestResult>(world_size, [&](comm::JobContext job) {
    return accelerate::run_self_test({.device = "cpu", .backend = backend}, job);
  });
  for (const SelfTestResult& result : results) {
    CHECK(result.world_size == world_size);
    CHECK(result.hosts.size() == 1);
    CHECK(result.difference <= accelerate::kSelfTestTolerance);
    CHECK(result.last_loss < result.first_loss);
    CHECK((result.small_us > 0 && result.bandwidth_gb_s > 0 && result.step_ms > 0 && result.alone_ms > 0));
  }
}

TEST_CASE("the self-test finds gradients that are not averaged", "[accelerate][multirank][fault]") {
  const auto outcomes = test::run_ranks(2, [](comm::JobContext job) {
    (void)accelerate::run_self_test({.device = "cpu", .backend = "ring"}, job, {.average_gradients = false});
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<MismatchError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("after the self-test"));
  }
}

TEST_CASE("the self-test finds gradients that are averaged wrongly on all ranks alike",
          "[accelerate][multirank][fault]") {
  const auto outcomes = test::run_ranks(2, [](comm::JobContext job) {
    // A hook that adds instead of averaging: replicas stay equal, and only the losses tell.
    ddp::DdpOptions wrong;
    wrong.comm_hook = [](comm::ProcessGroup& group, const ddp::Bucket& bucket) {
      return group.all_reduce(comm::buffer_of(bucket.gradients), comm::ReduceOp::kSum);
    };
    (void)accelerate::run_self_test({.device = "cpu", .backend = "ring"}, job, wrong);
  });
  for (const auto& outcome : outcomes) CHECK_THAT(outcome.message(), ContainsSubstring("differ from those of one"));
}
