#include "mine/stage_one.hpp"

#include <array>
#include <chrono>
#include <vector>

#include "09_sharded/2_stage_one/sharded_step.hpp"
#include "base/error.hpp"
#include "mine/group_collectives.hpp"
#include "mine/unit_optimizer.hpp"

namespace lockstep::mine {
namespace {

const std::array kParts = {Part{"stage 1", {"09.2"}}, Part{"reducer", {"06.5"}}};

// A unit is a bucket: its gaps hold zeros, and the number of ranks divides its length.
std::vector<sharded::Bucket> buckets_of(std::span<const sharded::Unit> units) {
  std::vector<sharded::Bucket> buckets;
  for (const sharded::Unit& unit : units)
    buckets.push_back({.values = unit.values.span<float>(), .gradients = unit.gradients.span<float>()});
  return buckets;
}

class LearnersStageOne final : public StageOne {
 public:
  LearnersStageOne(nn::Module& module, comm::ProcessGroup& group)
      : StageOne(module, group),
        collectives_(group),
        optimizer_(*this, group.rank()),
        step_(buckets_of(units()), collectives_, optimizer_) {}

  double update(optim::Optimizer& optimizer, double learning_rate, double max_norm) override {
    optimizer_.begin(optimizer, learning_rate);
    const double norm = step_.finish(max_norm);
    optimizer_.end();
    collectives_.require_awaited("09.2: finish()");
    module().zero_grad();  // used up
    return static_cast<float>(norm);
  }

 private:
  void launch(std::size_t unit) override {
    (void)weighed_unit(unit);
    step_.launch(unit);
  }
  void wait(std::size_t unit) override {
    const auto begin = std::chrono::steady_clock::now();
    step_.wait(unit);
    add_waited(std::chrono::steady_clock::now() - begin);
  }

  GroupCollectives collectives_;
  UnitOptimizer optimizer_;
  sharded::ShardedStep step_;
};

}  // namespace

std::span<const Part> sharded_parts() { return kParts; }

double StageOne::update(optim::Optimizer& optimizer, double learning_rate, double max_norm) {
  const double norm = clip_grad_norm(max_norm);
  optimizer.step(learning_rate);
  gather_values();
  return norm;
}

std::unique_ptr<StageOne> make_stage_one(const Fingerprints& files, nn::Module& module, comm::ProcessGroup& group,
                                         const sharded::Options& options) {
  if (options.zero != 1)
    throw UsageError(
        concat("--mine trains with stage 1 of ZeRO, which is what 09.2 writes: leave out --zero ", options.zero));
  if (!is_learners(kParts[0], files)) return std::make_unique<StageOne>(module, group);
  if (options.device.name != "cpu")
    throw UsageError("the stage 1 of 09.2 works in host memory: train with --device cpu");
  return std::make_unique<LearnersStageOne>(module, group);
}

}  // namespace lockstep::mine
