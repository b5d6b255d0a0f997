// The divided table and loss with threads as ranks, in float64 beside the whole ones.
#include "10_tensor_parallel/vocabulary_loss.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/primitives.hpp"
#include "base/error.hpp"
#include "kernels/loss.hpp"
#include "support/catch.hpp"
#include "tensor_ranks.hpp"

using namespace lockstep;
using autograd::Variable;
using tensor_parallel::Group;
using tensor_parallel::RowLayout;

namespace {

constexpr std::int64_t kTokens = 37, kChannels = 6, kSamples = 4, kPositions = 6, kRows = kSamples * kPositions;

// The first and last token of every rank, for 1 to 4 ranks, ignored rows, and others.
Tensor border_targets() {
  Tensor targets = test::random_tokens({kSamples, kPositions}, kTokens, 4);
  const std::vector<std::int32_t> chosen{
      0, 8, 9, 11, 12, 17, 18, 23, 24, 26, 27, 36, kernels::kIgnoredTarget, kernels::kIgnoredTarget};
  std::ranges::copy(chosen, targets.span<std::int32_t>().begin());
  return targets;
}

struct Compared {
  double worst = INFINITY;  // difference from the whole
  double loss = 0;
  double largest_logit = 0;
};

Compared compare(const Tensor& targets, double deviation, Group& group) {
  const Tensor hidden = test::normal_tensor({kSamples, kPositions, kChannels}, 1, deviation);
  const Tensor table = test::normal_tensor({kTokens, kChannels}, 2, deviation);
  const Variable all_hidden = Variable::parameter(hidden.clone(), "hidden"),
                 all_rows = Variable::parameter(table.clone(), "table");
  const Variable expected = autograd::head_cross_entropy(all_hidden, all_rows, targets);
  expected.backward(0.7);

  const Range own = tensor_parallel::share_of(kTokens, group);
  const Variable mine = Variable::parameter(hidden.clone(), "hidden"),
                 rows = Variable::parameter(table.rows(own.begin, own.end).clone(), "rows");
  const Variable found = tensor_parallel::vocabulary_cross_entropy(
      tensor_parallel::copy_to_ranks(mine, group), rows, {.first = own.begin, .whole = kTokens}, targets, group);
  found.backward(0.7);
  const auto logits = autograd::linear(Variable(hidden), Variable(table), {}).value();
  return {.worst = std::max({test::difference(found.value(), expected.value()),
                             test::difference(mine.gradient(), all_hidden.gradient()),
                             test::difference(rows.gradient(), all_rows.gradient(), own.begin * kChannels)}),
          .loss = found.value().item(),
          .largest_logit = std::ranges::max(logits.span<double>())};
}

}  // namespace

TEST_CASE("the loss of a divided vocabulary and its gradients are those of the whole one",
          "[tensor_parallel][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  for (const auto& [deviation, at_least] : {std::pair{1.0, 1.0}, {5.5, 80.0}}) {
    const auto compared = test::on_tensor_ranks<Compared>(
        world_size, [&](Group& group) { return compare(border_targets(), deviation, group); });
    CHECK(compared.front().largest_logit > at_least);
    for (const Compared& rank : compared) {
      CHECK(rank.worst < 1e-12);
      CHECK(rank.loss == compared.front().loss);  // equal bits
    }
  }
}

TEST_CASE("a batch without targets has no loss and no gradient", "[tensor_parallel][multirank]") {
  Tensor targets = Tensor::empty({kSamples, kPositions}, DType::kInt32);
  std::ranges::fill(targets.span<std::int32_t>(), kernels::kIgnoredTarget);
  for (const Compared& rank :
       test::on_tensor_ranks<Compared>(3, [&](Group& group) { return compare(targets, 1, group); })) {
    CHECK(rank.worst < 1e-12);
    CHECK(rank.loss == 0);
  }
}

TEST_CASE("a target outside the vocabulary is an error, not another rank's token", "[tensor_parallel][multirank]") {
  for (const test::RankOutcome& outcome : test::run_ranks(2, [](comm::JobContext job) {
         const auto group = ring::make_shared_memory_process_group(std::move(job));
         Tensor targets = border_targets();
         targets.span<std::int32_t>()[3] = static_cast<std::int32_t>(kTokens);
         (void)compare(targets, 1, *group);
       }))
    CHECK_THAT(outcome.message(), ContainsSubstring("target 37 of row 3"));
}

TEST_CASE("a divided table embeds every token once", "[tensor_parallel][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  const RowLayout layout = GENERATE(RowLayout::kWhole, RowLayout::kDivided);
  const nn::GptConfig config{.vocabulary_size = kTokens,
                             .channels = kChannels,
                             .head_count = 1,
                             .layer_count = 1,
                             .context_length = kPositions};
  const auto worst = test::on_tensor_ranks<double>(world_size, [&](Group& group) {
    const nn::InitScope scope = nn::InitScope(3, DType::kFloat64).child("wte");
    const tensor_parallel::VocabularyParallelTable table(config, nn::Owner::kThisRank, scope, group, layout);
    const Variable all_rows = Variable::parameter(scope.normal("weight", Shape{kTokens, kChannels}, 0.02), "table");
    const Tensor tokens = border_targets();
    std::ranges::replace(tokens.span<std::int32_t>(), kernels::kIgnoredTarget, 1);
    const Variable positions = Variable::parameter(test::normal_tensor({kPositions, kChannels}, 6), "positions");
    const Variable own_positions = Variable::parameter(positions.value().clone(), "positions");

    const Variable expected = autograd::embedding(tokens, all_rows, positions);
    const Variable found = table.embed(tokens, group.rank() == 0 ? own_positions : Variable());
    const bool is_divided = layout == RowLayout::kDivided;
    const Range rows = is_divided ? tensor_parallel::share_of(kRows, group) : Range{0, kRows};
    const Tensor weights = test::normal_tensor({kRows, kChannels}, 5);
    autograd::sum(autograd::mul(expected, Variable(weights.reshape(expected.shape())))).backward();
    autograd::sum(autograd::mul(found, Variable(weights.rows(rows.begin, rows.end).reshape(found.shape())))).backward();
    const Range own = tensor_parallel::share_of(kTokens, group);
    double largest = std::max(test::difference(found.value(), expected.value(), rows.begin * kChannels),
                              test::difference(table.weight().gradient(), all_rows.gradient(), own.begin * kChannels));
    if (group.rank() == 0)
      largest = std::max(largest, test::difference(own_positions.gradient(), positions.gradient()));
    return largest;
  });
  for (const double rank : worst) CHECK(rank < 1e-12);
}
