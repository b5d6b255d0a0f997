// The arithmetic of memory; that of a real training is compared in tests/08_accelerate and tests/09_sharded.
#include "nn/training_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "nn/gpt_parameters.hpp"
#include "nn/parameter_units.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

// C = 32, so that each count can be written down: a block has 12 C^2 = 12288 elements in matrices and 13 C in vectors.
const nn::GptConfig kCountable{
    .vocabulary_size = 58, .channels = 32, .head_count = 4, .layer_count = 4, .context_length = 24, .batch_size = 2};
constexpr double kParameters = 58 * 32 + 24 * 32 + 4 * (12288 + 13 * 32) + 2 * 32;

std::vector<nn::ParameterUnit> units_of(const nn::GptConfig& config, int ranks) {
  return nn::units_of(nn::gpt_parameters(config), ranks);
}

nn::TrainingMemory at(int stage, int ranks, bool is_half = false) {
  return nn::training_memory(
      {.config = kCountable, .batch_size = 2, .is_half = is_half, .ranks = ranks, .stage = stage});
}

}  // namespace

TEST_CASE("a GPT has a unit for each block and embedding, and one of vectors", "[nn][memory]") {
  const std::vector<nn::ParameterUnit> units = units_of(kCountable, 1);
  std::vector<std::string> names;
  std::vector<std::int64_t> counts;
  for (const nn::ParameterUnit& unit : units) {
    names.push_back(unit.name);
    counts.push_back(unit.layout.count());
  }
  CHECK(names == std::vector<std::string>{"wte", "wpe", "vectors", "h.0", "h.1", "h.2", "h.3"});
  CHECK(counts == std::vector<std::int64_t>{58 * 32, 24 * 32, 4 * 13 * 32 + 2 * 32, 12288, 12288, 12288, 12288});
  // Padded to 64 bytes, or 16 elements, on each rank: 58 * 32 = 1856 elements on 5 ranks become 80 * 24.
  CHECK(units_of(kCountable, 5)[0].layout.count() == 1920);
  // A vector of 20 elements takes the place of 32 if another one follows.
  nn::GptConfig odd = kCountable;
  odd.channels = 20;
  odd.layer_count = 1;  // vectors of 20, 60 and 80 elements
  CHECK(units_of(odd, 1)[2].layout.count() == 2 * 32 + 64 + 32 + 2 * 32 + 80 + 32 + 2 * 32);
}

TEST_CASE("the bytes per parameter are those of the stage", "[nn][memory]") {
  for (const int ranks : {1, 2, 4}) {  // on which no unit needs padding
    INFO(ranks << " ranks");
    const double n = ranks;
    for (const int stage : {0, 1, 2, 3}) {
      INFO("stage " << stage);
      const nn::TrainingMemory memory = at(stage, ranks);
      CHECK(memory.values == kParameters * 4 / (stage == 3 ? n : 1));
      CHECK(memory.gradients == kParameters * 4 / (stage >= 2 ? n : 1));
      CHECK(memory.moments == kParameters * 8 / (stage >= 1 ? n : 1));
      // Of the gradients: wte, wpe, vectors, and two of four blocks; of the values: three blocks.
      const double vectors = 54 * 32, slots = (58 + 24) * 32 + vectors + 2 * 12288;
      CHECK(memory.whole_gradients == (stage >= 2 ? 4 * slots : 0));
      CHECK(memory.whole_values == Approx(stage == 3 ? 4 * (3 * 12288 + vectors * (1 - 1 / n)) : 0));
      CHECK(memory.half_values == 0);
      CHECK(memory.total() == Approx(memory.values + memory.gradients + memory.moments + memory.whole_gradients +
                                     memory.whole_values + memory.activations + memory.logits));
    }
  }
  CHECK(at(2, 4, true).half_values == 2 * (58 * 32 + 4 * 12288));
  CHECK(at(3, 4, true).half_values == 0);
}

TEST_CASE("activations do not depend on the stage, and logits count if they are there at the peak", "[nn][memory]") {
  for (const int stage : {1, 2, 3}) {
    CHECK(at(stage, 4).activations == at(0, 1).activations);
    CHECK(at(stage, 4).logits == at(0, 1).logits);
  }
  // Rows of 32 channels: four blocks keep 12 C floats and statistics each; then the last sum, norm and its gradient.
  const double rows = 2 * 24, block = (12 * 32 + 4 + 4) * 4, last = 3 * 32 * 4 + 8;
  nn::GptConfig wide = kCountable;
  wide.vocabulary_size = 1000;
  const nn::TrainingMemory with_logits = nn::training_memory({.config = wide, .batch_size = 2});
  CHECK(with_logits.logits == rows * 1000 * 4);
  CHECK(with_logits.activations == rows * (4 * block + last));
  CHECK(at(0, 1).logits == 0);  // 58 scores are fewer than the 5 C of a block's backward
  CHECK(at(0, 1).activations == rows * (4 * block + 5 * 32 * 4));
}

namespace {

// kCountable, whose ranks divide the model.
nn::TrainingPlan divided(int tensor, int pipeline, int micro_batches = 1) {
  return {
      .config = kCountable, .batch_size = 2, .tensor = tensor, .pipeline = pipeline, .micro_batches = micro_batches};
}

constexpr double kRows = 2 * 24;

}  // namespace

TEST_CASE("tensor ranks have a part of each matrix, and the first has what is added once", "[nn][memory]") {
  for (const int t : {2, 4}) {
    INFO(t << " ranks");
    // Rank 0: whole norms, positions and the two biases that are added once; 7 C of other biases are divided. The last
    // rank has no more rows of the table.
    const double vectors = 4 * (6 * 32 + 7 * 32 / t) + 2 * 32, table = (58 / t) * 32;
    const double count = table + 24 * 32 + 4 * 12288 / t + vectors;
    const nn::TrainingMemory memory = nn::training_memory(divided(t, 1));
    CHECK(memory.values == count * 4);
    CHECK(memory.gradients == count * 4);
    CHECK(memory.moments == count * 8);
    // Of a block, two sums and two norms are whole. At the end of forward there are the last sum, norm and its
    // gradient.
    const double block = 4 * (4 * 32 + 8 * 32 / t + 4 + 4 / t);
    CHECK(memory.activations == kRows * (4 * block + 3 * 32 * 4 + 8));
    CHECK(memory.logits == kRows * 4 * (58 / t));
  }
}

TEST_CASE("with sequence parallelism sums and norms are divided, too", "[nn][memory]") {
  nn::TrainingPlan plan = divided(4, 1);
  plan.is_sequence_parallel = true;
  // 12 C floats of four blocks, their statistics, and the last sum and norm, are a quarter; the head's input and its
  // gradient are whole.
  const double kept = 4 * 4 * (12 * 32 + 4 + 4) / 4 + 2 * 32 * 4 / 4, whole = 2 * 32 * 4;
  const nn::TrainingMemory memory = nn::training_memory(plan);
  CHECK(memory.activations == Approx(kRows * (kept + 8 + whole)));
}

TEST_CASE("a stage of a pipeline has its blocks, and holds fewer micro-batches the later it is", "[nn][memory]") {
  const double block = 12288 + 13 * 32, table = 58 * 32, kept = kRows * 4 * (12 * 32 + 4 + 4);
  for (const int m : {1, 2, 8}) {
    INFO(m << " micro-batches");
    const std::vector<nn::TrainingMemory> stages = nn::training_memory_by_stage(divided(1, 4, m));
    REQUIRE(stages.size() == 4);
    CHECK(stages[0].values == 4 * (table + 24 * 32 + block));
    CHECK(stages[1].values == 4 * block);
    CHECK(stages[2].moments == 8 * block);
    CHECK(stages[3].values == 4 * (table + block + 2 * 32));  // the table is borrowed
    CHECK(stages[3].moments == 8 * (block + 2 * 32));         // and has no moments
    CHECK(stages[3].gradients == stages[3].values);
    CHECK(stages[0].gradients == stages[0].values + 4 * table);  // where the copy's gradient arrives
    CHECK(stages[1].gradients == stages[1].values);
    // One micro-batch in its backward, and one or two messages.
    const double in_mlp = kRows * 5 * 32 * 4, message = kRows * 32 * 4;
    CHECK(stages[0].activations == Approx(std::min(m, 4) * kept + in_mlp + message));
    CHECK(stages[1].activations == Approx(std::min(m, 3) * kept + in_mlp + 2 * message));
    CHECK(stages[2].activations == Approx(std::min(m, 2) * kept + in_mlp + 2 * message));
    for (const int first : {0, 1, 2}) CHECK(stages[static_cast<std::size_t>(first)].logits == 0);
    CHECK(nn::training_memory(divided(1, 4, m)).total() ==
          std::ranges::max_element(stages, {}, &nn::TrainingMemory::total)->total());
  }
  // Blocks that the ranks cannot divide equally: 4 among 3 are 1, 1 and 2.
  const std::vector<nn::TrainingMemory> uneven = nn::training_memory_by_stage(divided(1, 3));
  CHECK(uneven[0].values == 4 * (table + 24 * 32 + block));
  CHECK(uneven[1].values == 4 * block);
  CHECK(uneven[2].values == 4 * (table + 2 * block + 2 * 32));
}

TEST_CASE("ranks that divide a model also divide the moments in stage 1", "[nn][memory]") {
  nn::TrainingPlan plan = divided(2, 2);
  const std::vector<nn::TrainingMemory> whole = nn::training_memory_by_stage(plan);
  plan.ranks = 4;
  plan.stage = 1;
  const std::vector<nn::TrainingMemory> parts = nn::training_memory_by_stage(plan);
  // On 4 ranks a unit may be padded by 63 elements, and each of 27 vectors by 15.
  CHECK(parts[0].moments >= whole[0].moments / 4);
  CHECK(parts[0].moments <= whole[0].moments / 4 + 2 * (4 * 63 + 27 * 15));
  CHECK(parts[0].activations == whole[0].activations);
}

TEST_CASE("what no training can be is refused", "[nn][memory]") {
  CHECK_THROWS_AS(nn::training_memory(divided(3, 1)), ContractError);  // 4 heads
  CHECK_THROWS_AS(nn::training_memory(divided(0, 1)), ContractError);
  CHECK_THROWS_AS(nn::training_memory(divided(1, 5)), ContractError);  // 4 blocks
  CHECK_THROWS_AS(nn::training_memory(divided(1, 0)), ContractError);
  CHECK_THROWS_AS(nn::training_memory(divided(1, 2, 0)), ContractError);
  CHECK_THROWS_AS(nn::training_memory({.config = kCountable, .stage = 2, .tensor = 2}), ContractError);
  CHECK_THROWS_AS(at(4, 2), ContractError);
  CHECK_THROWS_AS(at(-1, 2), ContractError);
  CHECK_THROWS_AS(at(1, 0), ContractError);
  CHECK_THROWS_AS(units_of(kCountable, 0), ContractError);
  CHECK_THROWS_AS(nn::training_memory({.config = kCountable, .batch_size = 0}), ContractError);
  CHECK_THROWS_AS(nn::training_memory({.config = kCountable, .context = 25}), ContractError);
  CHECK_THROWS_AS(nn::training_memory({}), ContractError);
}
