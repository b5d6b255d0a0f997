#include "00_why_many_gpus/budget.hpp"

#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::plan;

TEST_CASE("7 billion parameters with Adam need 28, 28 and 56 GB, and over 130 GB with activations", "[plan][chapter]") {
  const MemoryUse use = memory_use(Model{}, Training{}, Sharding::kNothing, 1);
  CHECK(use.weights == Approx(28e9));
  CHECK(use.gradients == Approx(28e9));
  CHECK(use.master_weights == 0);
  CHECK(use.optimizer == Approx(56e9));
  CHECK(use.total() > 130e9);
  CHECK(use.total() < 131e9);
}

TEST_CASE("mixed precision moves bytes to the master copy and saves none per parameter", "[plan][chapter]") {
  Training training{.precision = Precision::kMixed};
  const MemoryUse use = memory_use(Model{}, training, Sharding::kNothing, 1);
  CHECK(use.weights == Approx(14e9));
  CHECK(use.gradients == Approx(14e9));
  CHECK(use.master_weights == Approx(28e9));
  CHECK(use.optimizer == Approx(56e9));
  training.optimizer = Optimizer::kMomentum;
  CHECK(memory_use(Model{}, training, Sharding::kNothing, 1).optimizer == Approx(28e9));
  training.optimizer = Optimizer::kSgd;
  CHECK(memory_use(Model{}, training, Sharding::kNothing, 1).optimizer == 0);
}

// Korthikanti et al. 2022, section 4.1: what each part of a layer keeps, tensor by tensor. `elements` in units of s b h
// or, for pairs of positions, of a s s b.
TEST_CASE("a layer's activations are the sum of the tensors that the paper lists", "[plan][chapter]") {
  struct Kept {
    const char* what;
    double elements;
    bool is_mask;  // one byte each, whatever the precision
    bool is_pairs;
  };
  const std::vector<Kept> kept = {
      {"input of queries, keys and values", 1, false, false},
      {"queries and keys", 2, false, false},
      {"softmax", 1, false, true},
      {"its dropout's mask", 1, true, true},
      {"its dropout's output", 1, false, true},
      {"values", 1, false, false},
      {"input of the projection", 1, false, false},
      {"mask of attention's dropout", 1, true, false},
      {"input of the MLP", 1, false, false},
      {"input of its activation function", 4, false, false},
      {"input of its second product", 4, false, false},
      {"mask of the MLP's dropout", 1, true, false},
      {"inputs of two layer norms", 2, false, false},
  };
  const Model model{.layers = 3, .hidden = 24, .heads = 4, .sequence = 10};
  for (const Precision precision : {Precision::kFloat32, Precision::kMixed}) {
    double expected = 0;
    for (const Kept& each : kept) {
      const double elements = each.elements * (each.is_pairs ? 4 * 10 * 10 * 5 : 10 * 5 * 24);
      expected += elements * (each.is_mask ? 1 : precision == Precision::kMixed ? 2 : 4);
    }
    const Training training{.precision = precision, .micro_batch = 5};
    CHECK(activation_bytes_per_layer(model, training) == Approx(expected));
    CHECK(memory_use(model, training, Sharding::kNothing, 7).activations == Approx(3 * expected));
  }
}

// The table of Korthikanti et al. 2022 for GPT-3's shape: 5 a s / h = 80, so a layer is 114 s b h, and 10 + 24/8 + 80/8
// = 23 s b h on each of 8 ranks that split it; s h = 2048 x 12288 = 25165824.
TEST_CASE("activations of GPT-3's layers equal the paper's formulas", "[plan][chapter]") {
  const Model gpt3{.parameters = 175e9, .layers = 96, .hidden = 12288, .heads = 96, .sequence = 2048};
  Training training{.precision = Precision::kMixed};
  CHECK(activation_bytes_per_layer(gpt3, training) == Approx(114 * 25165824.0));
  CHECK(activation_bytes_per_layer(gpt3, training, 8) == Approx(23 * 25165824.0));
  training.recompute = Recompute::kAttention;
  CHECK(activation_bytes_per_layer(gpt3, training) == Approx(34 * 25165824.0));
  CHECK(activation_bytes_per_layer(gpt3, training, 8) == Approx(13 * 25165824.0));
  training.recompute = Recompute::kEverything;
  CHECK(activation_bytes_per_layer(gpt3, training) == Approx(2 * 25165824.0));
  CHECK_THROWS_AS(activation_bytes_per_layer(gpt3, training, 0), ContractError);
}

TEST_CASE("ZeRO's stages need what figure 1 of the paper says", "[plan][chapter]") {
  // Rajbhandari et al. 2020, figure 1: 7.5 billion parameters, 64 GPUs, mixed precision, Adam; no activations.
  const Model model{.parameters = 7.5e9, .layers = 0};
  const Training training{.precision = Precision::kMixed};
  const auto gb = [&](Sharding sharding) { return memory_use(model, training, sharding, 64).total() / 1e9; };
  CHECK(gb(Sharding::kNothing) == Approx(120).margin(0.05));
  CHECK(gb(Sharding::kOptimizer) == Approx(31.4).margin(0.05));
  CHECK(gb(Sharding::kGradients) == Approx(16.6).margin(0.05));
  CHECK(gb(Sharding::kWeights) == Approx(1.9).margin(0.05));
}

TEST_CASE("more GPUs of plain data parallelism change nothing per GPU", "[plan][chapter]") {
  const double alone = memory_use(Model{}, Training{}, Sharding::kNothing, 1).total();
  for (const int world_size : {2, 3, 8, 1000}) {
    CHECK(memory_use(Model{}, Training{}, Sharding::kNothing, world_size).total() == alone);
  }
  CHECK_THROWS_AS(memory_use(Model{}, Training{}, Sharding::kNothing, 0), ContractError);
}

TEST_CASE("the smallest number of GPUs fits, one less does not", "[plan][chapter]") {
  const Model model;
  const Training training;
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients, Sharding::kWeights}) {
    for (const double usable : {20e9, 50e9, 80e9, 100e9, 126e9}) {
      const auto fewest = smallest_world_size(model, training, sharding, usable);
      if (!fewest) {  // then not even endlessly many: what is not split is too much by itself
        CHECK(memory_use(model, training, sharding, 1'000'000).total() > usable);
        continue;
      }
      CHECK(memory_use(model, training, sharding, *fewest).total() <= usable);
      if (*fewest > 1) CHECK(memory_use(model, training, sharding, *fewest - 1).total() > usable);
    }
  }
  CHECK_FALSE(smallest_world_size(model, training, Sharding::kNothing, 130e9).has_value());
  CHECK(smallest_world_size(model, training, Sharding::kNothing, 131e9) == 1);
}

TEST_CASE("training times equal those that were published", "[plan][chapter]") {
  constexpr double kDay = 86400;
  // Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", 2021, section
  // 5.1: 175 billion parameters, 300 billion tokens, 1024 A100 at 140 TFLOP/s, activations recomputed: 34 days.
  const Workload gpt3{.parameters = 175e9,
                      .tokens = 300e9,
                      .peak_flops = 140e12,
                      .utilisation = 1,
                      .efficiency = 1,
                      .flops_per_parameter_and_token = 8};
  CHECK(training_seconds(gpt3, 1024) / kDay == Approx(34).margin(0.5));
  // Touvron et al., "LLaMA", 2023, section 2.4: 65 billion parameters (65.2), 1.4 trillion tokens, 2048 A100, 380
  // tokens per second and GPU: about 21 days.
  const Workload llama{
      .parameters = 65.2e9, .tokens = 1.4e12, .peak_flops = 380 * 6 * 65.2e9, .utilisation = 1, .efficiency = 1};
  CHECK(training_seconds(llama, 2048) / kDay == Approx(21).margin(0.5));
  // Brown et al., "Language Models are Few-Shot Learners", 2020, table D.1: GPT-3 took 3.14e23 FLOP (174.6 billion).
  CHECK(training_flops({.parameters = 174.6e9, .tokens = 300e9}) == Approx(3.14e23).epsilon(0.005));
}

TEST_CASE("a 24-hour job at efficiency 0.9 takes 6 h 40 min on 4 GPUs and 3 h 20 min on 8", "[plan][chapter]") {
  CHECK(24 / speedup(1, 0.9) == Approx(24));
  CHECK(24 / speedup(4, 0.9) == Approx(6 + 40.0 / 60));
  CHECK(24 / speedup(8, 0.9) == Approx(3 + 20.0 / 60));
  CHECK_THROWS_AS(speedup(0, 0.9), ContractError);
  CHECK_THROWS_AS(speedup(2, 0), ContractError);
  CHECK_THROWS_AS(speedup(2, 1.1), ContractError);
}
