#include "00_why_many_gpus/strategy/strategies.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::plan;

namespace {

bool is_possible(Strategy strategy, int world_size, int micro_batches) {
  return strategy != Strategy::kData || micro_batches % world_size == 0;
}

// When the last backward pass of a GPipe schedule ends: each pass begins as soon as the one before it on the same rank
// and the one that feeds it have ended.
int pipeline_duration(int world_size, int micro_batches) {
  std::vector<std::vector<int>> forward(world_size, std::vector<int>(micro_batches));
  for (int rank = 0; rank < world_size; ++rank) {
    for (int m = 0; m < micro_batches; ++m) {
      const int fed = rank > 0 ? forward[rank - 1][m] : 0, free = m > 0 ? forward[rank][m - 1] : 0;
      forward[rank][m] = std::max(fed, free) + 1;
    }
  }
  std::vector<int> fed(micro_batches, 0);
  int last = 0;
  for (int rank = world_size - 1; rank >= 0; --rank) {
    int free = forward[rank][micro_batches - 1];
    for (int m = 0; m < micro_batches; ++m) fed[m] = free = std::max(fed[m], free) + 2;
    last = free;
  }
  return last;
}

}  // namespace

TEST_CASE("idle shares are those of the closed forms and of a schedule worked out pass by pass", "[plan][chapter]") {
  for (const int world_size : {1, 2, 3, 4, 5, 8}) {
    for (const int micro_batches : {1, 2, 4, 8, 15, 40}) {
      INFO(world_size << " ranks, " << micro_batches << " micro-batches");
      const double p = world_size, m = micro_batches;
      const Schedule pipeline = schedule_of(Strategy::kPipeline, world_size, micro_batches);
      CHECK(pipeline.duration() == pipeline_duration(world_size, micro_batches));
      CHECK(pipeline.idle_share() == Approx((p - 1) / (m + p - 1)).margin(1e-12));
      const Schedule model = schedule_of(Strategy::kModel, world_size, micro_batches);
      CHECK(model.duration() == 3 * world_size * micro_batches);
      CHECK(model.idle_share() == Approx(1 - 1 / p).margin(1e-12));
      const Schedule tensor = schedule_of(Strategy::kTensor, world_size, micro_batches);
      CHECK(tensor.duration() == 3 * micro_batches);
      CHECK(tensor.idle_share() == Approx(0).margin(1e-12));
      if (!is_possible(Strategy::kData, world_size, micro_batches)) {
        CHECK_THROWS_AS(schedule_of(Strategy::kData, world_size, micro_batches), UsageError);
        continue;
      }
      const Schedule data = schedule_of(Strategy::kData, world_size, micro_batches);
      CHECK(data.duration() == 3 * micro_batches);
      CHECK(data.idle_share() == Approx(0).margin(1e-12));
    }
  }
}

TEST_CASE("every schedule does the same work, one pass at a time, in an order that is possible", "[plan][chapter]") {
  constexpr int kWorldSize = 4, kMicroBatches = 8;
  for (const Strategy strategy : {Strategy::kData, Strategy::kModel, Strategy::kTensor, Strategy::kPipeline}) {
    INFO(name_of(strategy));
    const Schedule schedule = schedule_of(strategy, kWorldSize, kMicroBatches);
    int work = 0;
    std::map<std::tuple<int, int, Pass>, Task> by_key;  // rank, micro-batch, pass
    std::set<std::pair<int, int>> taken;                // rank, unit
    for (const Task& task : schedule.tasks) {
      work += task.end - task.begin;
      CHECK(by_key.emplace(std::tuple(task.rank, task.micro_batch, task.pass), task).second);
      for (int unit = task.begin; unit < task.end; ++unit) CHECK(taken.insert({task.rank, unit}).second);
    }
    CHECK(work == 3 * kMicroBatches * kWorldSize);  // 1 forward, 2 backward per micro-batch and part of the model

    for (const auto& [key, task] : by_key) {
      const auto& [rank, micro_batch, pass] = key;
      if (pass == Pass::kBackward) CHECK(task.begin >= by_key.at({rank, micro_batch, Pass::kForward}).end);
      if (strategy != Strategy::kModel && strategy != Strategy::kPipeline) continue;
      const int feeder = pass == Pass::kForward ? rank - 1 : rank + 1;
      if (feeder >= 0 && feeder < kWorldSize) CHECK(task.begin >= by_key.at({feeder, micro_batch, pass}).end);
    }
  }
}

TEST_CASE("pictures show who computes what when", "[plan][chapter]") {
  using Lines = std::vector<std::string>;
  CHECK(picture_of(schedule_of(Strategy::kData, 2, 2)) == Lines{"aaAAAA", "bbBBBB"});
  CHECK(picture_of(schedule_of(Strategy::kModel, 2, 2)) == Lines{"ab......AABB", "..abAABB...."});
  CHECK(picture_of(schedule_of(Strategy::kTensor, 2, 2)) == Lines{"aAAbBB", "aAAbBB"});
  CHECK(picture_of(schedule_of(Strategy::kPipeline, 2, 2)) == Lines{"ab...AABB", ".abAABB.."});
  CHECK(picture_of(schedule_of(Strategy::kTensor, 1, 27)).front().substr(0, 3) == "aAA");
  CHECK(picture_of(schedule_of(Strategy::kTensor, 1, 27)).front().substr(78) == "aAA");  // a again after z
}

// Small round numbers: 1200 parameters in 4 layers; s b h = 10 x 1 x 8 = 80 and a s s b = 2 x 100 = 200, so that a
// layer keeps 80 x 66 + 200 x 9 = 7080 bytes, and 320 bytes pass from layer to layer.
TEST_CASE("what a rank holds and sends follows from what is cut", "[plan][chapter]") {
  const Model model{.parameters = 1200, .layers = 4, .hidden = 8, .heads = 2, .sequence = 10};
  const Training training;
  constexpr double kLayer = 7080, kBoundary = 320;

  const RankLoad data = load_of(Strategy::kData, model, training, 2, 6);
  CHECK(data.memory.weights == 4800);
  CHECK(data.memory.gradients == 4800);
  CHECK(data.memory.optimizer == 9600);
  CHECK(data.memory.activations == Approx(4 * kLayer));
  CHECK(data.sent_bytes == Approx(4800));  // 2 x 1/2 of the gradients

  const RankLoad pipeline = load_of(Strategy::kPipeline, model, training, 2, 6);
  CHECK(pipeline.memory.weights == 2400);
  CHECK(pipeline.memory.optimizer == 4800);
  CHECK(pipeline.memory.activations == Approx(6 * 2 * kLayer));
  CHECK(pipeline.sent_bytes == Approx(6 * kBoundary));  // of two ranks, one sends forward, the other back
  CHECK(load_of(Strategy::kPipeline, model, training, 4, 6).sent_bytes == Approx(2 * 6 * kBoundary));
  CHECK(load_of(Strategy::kPipeline, model, training, 1, 6).sent_bytes == 0);
  CHECK(load_of(Strategy::kModel, model, training, 2, 6).memory.total() == Approx(pipeline.memory.total()));

  const RankLoad tensor = load_of(Strategy::kTensor, model, training, 2, 6);
  CHECK(tensor.memory.weights == 2400);
  // Whole: 4 values of 4 bytes and 2 masks; split: 12 values and the pairs.
  CHECK(tensor.memory.activations == Approx(4 * (80 * 18 + (80 * 48 + 200 * 9) / 2.0)));
  CHECK(tensor.sent_bytes == Approx(4 * 4 * 6 * kBoundary));  // 4 all-reduces x 4 layers x 6 micro-batches x 2/2
}

TEST_CASE("what cannot be cut evenly is refused with a way out", "[plan][chapter]") {
  const Model model{.layers = 32, .heads = 32};
  CHECK_THROWS_WITH(load_of(Strategy::kPipeline, model, {}, 5, 5), ContainsSubstring("32 layers cannot be cut into 5"));
  CHECK_THROWS_WITH(load_of(Strategy::kTensor, model, {}, 3, 3), ContainsSubstring("32 heads cannot be cut into 3"));
  CHECK_THROWS_WITH(schedule_of(Strategy::kData, 4, 6), ContainsSubstring("take a multiple of 4"));
  CHECK_THROWS_AS(schedule_of(Strategy::kTensor, 0, 1), ContractError);
}
