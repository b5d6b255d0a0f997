// A GPT divided among threads, in float64 beside the whole one.
#include "10_tensor_parallel/gpt/tensor_layers.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "10_tensor_parallel/gpt/tensor_step.hpp"
#include "base/error.hpp"
#include "nn/gpt.hpp"
#include "nn/layers.hpp"
#include "optim/clip.hpp"
#include "support/catch.hpp"
#include "tensor_ranks.hpp"

using namespace lockstep;
using autograd::Variable;
using tensor_parallel::Group;
using tensor_parallel::RowLayout;

namespace {

constexpr std::int64_t kSamples = 3, kPositions = 12, kLayers = 2;

nn::GptConfig config_with(bool checkpointing) {
  return {.vocabulary_size = 37,
          .channels = 24,
          .head_count = 12,
          .layer_count = kLayers,
          .context_length = kPositions,
          .dropout = 0.2,
          .activation_checkpointing = checkpointing};
}

const std::vector<std::int64_t> kIds{5, 2, 9};

Variable loss_of(const nn::Gpt& model) {
  const Tensor tokens = test::random_tokens({kSamples, kPositions + 1}, 37, 8);
  Tensor inputs = Tensor::empty({kSamples, kPositions}, DType::kInt32), targets = inputs.clone();
  for (std::int64_t i = 0; i < kSamples * kPositions; ++i) {
    const std::int64_t place = i / kPositions * (kPositions + 1) + i % kPositions;
    inputs.span<std::int32_t>()[i] = tokens.span<std::int32_t>()[place];
    targets.span<std::int32_t>()[i] = tokens.span<std::int32_t>()[place + 1];
  }
  return model.loss(inputs, targets, {.is_training = true, .seed = 3, .step = 4, .sample_ids = kIds});
}

struct Compared {
  double loss = INFINITY, gradients = INFINITY;               // differences from the whole model
  int all_reduces = 0, all_gathers = 0, reduce_scatters = 0;  // in forward and backward
  std::vector<double> of_norms;                               // gradients of all norms
};

Compared compare(Group& group, RowLayout rows, bool checkpointing) {
  const nn::GptConfig config = config_with(checkpointing);
  const nn::Gpt whole(config, {7, DType::kFloat64});
  const Variable expected = loss_of(whole);
  expected.backward();
  nn::Gpt model(config, {7, DType::kFloat64}, tensor_parallel::TensorLayers(group, rows));
  Compared compared;
  {
    const test::CollectiveCount count(group);
    const Variable loss = loss_of(model);
    loss.backward();
    compared.loss = std::abs(loss.value().item() - expected.value().item());
    compared.all_reduces = count.of("all_reduce");
    compared.all_gathers = count.of("all_gather");
    compared.reduce_scatters = count.of("reduce_scatter");
  }
  if (rows == RowLayout::kDivided) tensor_parallel::sum_partial_gradients(model, group);
  compared.gradients = test::gradient_difference(model, whole);
  for (const nn::NamedParameter& named : model.named_parameters()) {
    if (named.name.find("ln_") == std::string::npos) continue;
    const auto elements = named.parameter.gradient().span<double>();
    compared.of_norms.insert(compared.of_norms.end(), elements.begin(), elements.end());
  }
  return compared;
}

}  // namespace

TEST_CASE("a divided GPT has the loss and the gradients of the whole one", "[tensor_parallel][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  const RowLayout rows = GENERATE(RowLayout::kWhole, RowLayout::kDivided);
  const bool checkpointing = GENERATE(false, true);
  const auto ranks =
      test::on_tensor_ranks<Compared>(world_size, [&](Group& group) { return compare(group, rows, checkpointing); });
  for (const Compared& rank : ranks) {
    CHECK(rank.loss < 1e-12);
    CHECK(rank.gradients < 1e-12);
    CHECK(rank.of_norms == ranks.front().of_norms);  // equal bits: the norms must not drift apart
  }
}

TEST_CASE("a step's forward and backward make 4 L + 2 all-reduces", "[tensor_parallel][multirank]") {
  for (const Compared& rank :
       test::on_tensor_ranks<Compared>(2, [](Group& group) { return compare(group, RowLayout::kWhole, false); })) {
    CHECK(rank.all_reduces == 4 * kLayers + 2);
    CHECK(rank.all_gathers == 1);  // of the loss's statistics
    CHECK(rank.reduce_scatters == 0);
  }
  for (const Compared& rank :
       test::on_tensor_ranks<Compared>(2, [](Group& group) { return compare(group, RowLayout::kDivided, false); })) {
    CHECK(rank.all_reduces == 0);
    CHECK(rank.all_gathers == 6 * kLayers + 2 + 1);  // 2 L of them again
    CHECK(rank.reduce_scatters == 4 * kLayers + 2);
  }
}

TEST_CASE("every parameter has one owner", "[tensor_parallel][multirank]") {
  const nn::GptConfig config = config_with(false);
  const auto owned = test::on_tensor_ranks<std::int64_t>(4, [&](Group& group) {
    const nn::Gpt model(config, 7, tensor_parallel::TensorLayers(group));
    std::int64_t count = 0;
    for (const nn::NamedParameter& named : model.named_parameters()) count += named.is_owned ? named.slice.count() : 0;
    return count;
  });
  CHECK(owned[0] + owned[1] + owned[2] + owned[3] == nn::Gpt(config, 7).parameter_count());
}

TEST_CASE("the norm counts every element once, and clipping scales all by one factor", "[tensor_parallel][multirank]") {
  const int world_size = GENERATE(1, 2, 4);
  const RowLayout rows = GENERATE(RowLayout::kWhole, RowLayout::kDivided);
  struct Clipped {
    double norm = INFINITY, gradients = INFINITY;  // differences from the whole model
  };
  const auto ranks = test::on_tensor_ranks<Clipped>(world_size, [&](Group& group) -> Clipped {
    nn::Gpt whole(config_with(false), 7), model(config_with(false), 7, tensor_parallel::TensorLayers(group, rows));
    loss_of(whole).backward();
    loss_of(model).backward();
    if (rows == RowLayout::kDivided) tensor_parallel::sum_partial_gradients(model, group);
    const double expected = optim::clip_grad_norm(whole.parameters(), 0.1);
    const double found = tensor_parallel::clip_grad_norm(model, group, 0.1);
    return {std::abs(found / expected - 1), test::gradient_difference(model, whole)};
  });
  for (const Clipped& rank : ranks) {
    CHECK(rank.norm < 1e-6);  // in float32
    CHECK(rank.gradients < 1e-6);
  }
}

TEST_CASE("frozen norms have no gradients to be summed", "[tensor_parallel]") {
  const auto group = ring::make_shared_memory_process_group(comm::JobContext());
  const nn::GptConfig config = config_with(false);
  nn::Gpt model(config, {7, DType::kFloat64}, tensor_parallel::TensorLayers(*group, RowLayout::kDivided));
  for (const nn::NamedModule& named : model.named_modules())
    if (auto* const norm = dynamic_cast<nn::LayerNorm*>(&named.module)) norm->set_requires_grad(false);
  loss_of(model).backward();
  CHECK_NOTHROW(tensor_parallel::sum_partial_gradients(model, *group));
}

TEST_CASE("heads that do not divide are refused with numbers that do", "[tensor_parallel]") {
  const nn::GptConfig config{.head_count = 12};
  CHECK_NOTHROW(tensor_parallel::require_divisible_heads(config, 6));
  CHECK_THROWS_WITH(tensor_parallel::require_divisible_heads(config, 5),
                    "12 heads do not divide among 5 ranks; use 4 or 6");
  CHECK_THROWS_WITH(tensor_parallel::require_divisible_heads(config, 24),
                    "12 heads do not divide among 24 ranks; use 12");
}

TEST_CASE("a rank with other samples is named on all ranks", "[tensor_parallel][multirank]") {
  const auto batch_of = [](std::int64_t first) {
    const std::vector<std::int64_t> ids{first, 1};
    return data::Batch{test::random_tokens({2, 3}, 9, 1), test::random_tokens({2, 3}, 9, 2),
                       Tensor::from(std::span<const std::int64_t>(ids), {2})};
  };
  const auto outcomes = test::run_ranks(3, [&](comm::JobContext job) {
    const int rank = job.rank;
    const auto group = ring::make_shared_memory_process_group(std::move(job));
    tensor_parallel::require_same_batch(batch_of(4), *group);
    tensor_parallel::require_same_batch(batch_of(rank == 1 ? 5 : 4), *group);
  });
  for (const test::RankOutcome& outcome : outcomes) {
    CHECK(outcome.is<MismatchError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("rank 1 has other samples than rank 0"));
  }
}

TEST_CASE("a rank with a part of a model does not score the next token", "[tensor_parallel][multirank]") {
  for (const test::RankOutcome& outcome : test::run_ranks(2, [](comm::JobContext job) {
         const auto group = ring::make_shared_memory_process_group(std::move(job));
         const nn::Gpt model(config_with(false), 7, tensor_parallel::TensorLayers(*group));
         (void)model.logits(test::random_tokens({1, 3}, 37, 1));
       }))
    CHECK_THAT(outcome.message(), ContainsSubstring("load its checkpoint into a whole model"));
}

TEST_CASE("samples without positions cannot be divided by rows, and all ranks say so", "[tensor_parallel][multirank]") {
  for (const test::RankOutcome& outcome : test::run_ranks(2, [](comm::JobContext job) {
         const auto group = ring::make_shared_memory_process_group(std::move(job));
         const nn::Gpt model(config_with(false), 7, tensor_parallel::TensorLayers(*group, RowLayout::kDivided));
         const Tensor nothing = Tensor::empty({2, 0}, DType::kInt32);
         (void)model.loss(nothing, nothing);
       })) {
    CHECK(outcome.is<ContractError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("the samples have no positions; pass tokens [B, T] with T >= 1"));
  }
}
