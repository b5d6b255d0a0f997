// When the replicas of a run are compared.
#include "06_gpt_ddp/replica_check.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "run/run.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

TEST_CASE("replicas are compared every so many steps, and before a checkpoint", "[ddp]") {
  const test::TemporaryFolder folder;
  run::RunOptions options;
  options.output.folder = folder.path() / "runs";
  options.batch_size = 12;
  options.steps = 3;
  options.parallel.check_replicas = GENERATE(2, 0);
  run::Run run(options, {.parameters = 10, .training_samples = 100, .validation_samples = 10});
  std::vector<bool> is_due;
  for (int step = 0; step < 3; ++step) {
    (void)run.begin_step({}, {});
    run.end_step({});
    is_due.push_back(ddp::replica_check_is_due(run));
  }
  CHECK(is_due == std::vector<bool>{false, options.parallel.check_replicas == 2, true});
}

namespace {

class WeightPart : public nn::Module {
 public:
  WeightPart(Range range, double value) {
    const Tensor elements = Tensor::zeros({range.count()});
    std::ranges::fill(elements.span<float>(), static_cast<float>(value));
    (void)register_part("weight", elements, Slice::of({4, 3}).part(range));
  }
};

// The messages of two ranks that compare their parts.
std::vector<std::string> comparison(const std::function<WeightPart(int)>& part_of_rank) {
  std::vector<std::string> messages;
  for (const test::RankOutcome& outcome : test::run_ranks(2, [&](comm::JobContext job) {
         const auto group = ring::make_shared_memory_process_group(std::move(job));
         ddp::require_equal_parameters(part_of_rank(group->rank()), *group, "now");
       }))
    messages.push_back(outcome.message());
  return messages;
}

}  // namespace

TEST_CASE("parts of parameters are not compared if ranks hold different ones on purpose", "[ddp][multirank]") {
  for (const std::string& message : comparison([](int rank) { return WeightPart({4 * rank, 4 * rank + 6}, 1); })) {
    CHECK_THAT(message, ContainsSubstring("weight is only 6 elements of [4, 3]") &&
                            ContainsSubstring("compare the whole module, after gather_values()"));
  }
}

TEST_CASE("parts of parameters are compared if all ranks hold the same", "[ddp][multirank]") {
  for (const std::string& message : comparison([](int /*rank*/) { return WeightPart({4, 10}, 1); }))
    CHECK(message.empty());
  for (const std::string& message : comparison([](int rank) { return WeightPart({4, 10}, rank); }))
    CHECK_THAT(message, ContainsSubstring("the replicas have drifted apart now: parameter weight [6] of rank 1"));
}
