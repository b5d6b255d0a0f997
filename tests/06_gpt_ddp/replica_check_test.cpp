// When the replicas of a run are compared.
#include "06_gpt_ddp/replica_check.hpp"

#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "run/run.hpp"
#include "support/catch.hpp"
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

TEST_CASE("parts of parameters are not compared, because ranks hold different ones on purpose", "[ddp]") {
  class Part : public nn::Module {
   public:
    Part() { (void)register_part("weight", Tensor::zeros({6}), Slice::of({4, 3}).part({4, 10})); }
  };
  const auto group = ring::make_shared_memory_process_group(comm::JobContext());
  const Part part;
  CHECK_THROWS_WITH(ddp::require_equal_parameters(part, *group, "now"),
                    ContainsSubstring("weight is only 6 elements of [4, 3]") &&
                        ContainsSubstring("compare the whole module, after gather_values()"));
}
