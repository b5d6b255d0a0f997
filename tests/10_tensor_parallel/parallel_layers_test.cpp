// Functions and layers with threads as ranks, in float64 beside the uncut layers.
#include "10_tensor_parallel/parallel_layers.hpp"

#include <algorithm>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/primitives.hpp"
#include "base/error.hpp"
#include "nn/layers.hpp"
#include "support/catch.hpp"
#include "tensor_ranks.hpp"

using namespace lockstep;
using autograd::Variable;
using tensor_parallel::ColumnParallel;
using tensor_parallel::Group;
using tensor_parallel::RowLayout;
using tensor_parallel::RowParallel;

namespace {

constexpr std::int64_t kSamples = 3, kPositions = 4, kRows = kSamples * kPositions;
constexpr std::int64_t kChannels = 24, kHeads = 12;  // both divisible by 1 to 4
constexpr double kDeviation = 0.3;

// Rows [begin, end) of this rank if rows are divided.
Range own_rows(const Group& group, RowLayout rows) {
  return rows == RowLayout::kDivided ? tensor_parallel::share_of(kRows, group) : Range{0, kRows};
}

// The loss whose gradient of `output` is some weights; of this rank's rows only.
void run_backward(const Variable& output, Range rows) {
  const Tensor weights = test::normal_tensor({kRows, kChannels}, 5).rows(rows.begin, rows.end);
  autograd::sum(autograd::mul(output, Variable(weights.reshape(output.shape())))).backward();
}

// Biases begin with zeros, which would hide a bias that is added twice.
void fill_biases(const nn::Module& module) {
  for (const nn::NamedParameter& named : module.named_parameters()) {
    if (named.slice.whole.rank() != 1) continue;
    const auto elements = named.parameter.value().span<double>();
    std::size_t place = 0;
    named.slice.for_each_run([&](Range run) {
      for (std::int64_t i = run.begin; i < run.end; ++i) elements[place++] = 0.1 * static_cast<double>(i % 7) - 0.2;
    });
  }
}

// Two layers as a block has them, cut or whole.
class Pair : public nn::Module {
 public:
  using Apply = std::function<Variable(const nn::Projection& first, const nn::Projection& second, const Variable&)>;

  Pair(std::int64_t width, Apply apply)
      : first_(own<nn::Projection>("first", std::make_unique<nn::Conv1D>(kChannels, width, scope().child("first")))),
        second_(own<nn::Projection>(
            "second", std::make_unique<nn::Conv1D>(inner(width), kChannels, scope().child("second"), kDeviation))),
        apply_(std::move(apply)) {
    fill_biases(*this);
  }
  Pair(std::int64_t width, Apply apply, Group& group, RowLayout rows)
      : first_(own<nn::Projection>("first",
                                   std::make_unique<ColumnParallel>(kChannels, width, width == 3 * kChannels ? 3 : 1,
                                                                    scope().child("first"), group, rows))),
        second_(own<nn::Projection>("second", std::make_unique<RowParallel>(inner(width), kChannels, kDeviation,
                                                                            scope().child("second"), group, rows))),
        apply_(std::move(apply)) {
    fill_biases(*this);
  }

  [[nodiscard]] Variable forward(const Variable& x) const { return apply_(first_, second_, x); }

 private:
  static nn::InitScope scope() { return {3, DType::kFloat64}; }
  static std::int64_t inner(std::int64_t width) { return width == 3 * kChannels ? kChannels : width; }

  nn::Projection &first_, &second_;
  Apply apply_;
};

// The largest difference of output and gradients from those of the whole pair.
double compare(std::int64_t width, std::int64_t heads, Group& group, RowLayout rows) {
  const Pair::Apply mlp = [](const nn::Projection& first, const nn::Projection& second, const Variable& x) {
    return second.forward_of_gelu(first(x));
  };
  const auto attention = [](std::int64_t count) -> Pair::Apply {
    return [count](const nn::Projection& first, const nn::Projection& second, const Variable& x) {
      const Variable qkv = first(x);
      return second(autograd::attention(autograd::reshape(qkv, {kSamples, kPositions, qkv.shape()[-1]}), count));
    };
  };
  const Tensor x = test::normal_tensor({kRows, kChannels}, 1);
  const Pair whole(width, heads == 0 ? mlp : attention(heads));
  const Pair part(width, heads == 0 ? mlp : attention(heads / group.world_size()), group, rows);
  const Range own = own_rows(group, rows);
  const Variable all = Variable::parameter(x.clone(), "x");
  const Variable mine = Variable::parameter(x.rows(own.begin, own.end).clone(), "x");
  const Variable expected = whole.forward(all), found = part.forward(mine);
  run_backward(expected, {0, kRows});
  run_backward(found, own);
  const std::int64_t begin = own.begin * kChannels;
  return std::max({test::difference(found.value(), expected.value(), begin),
                   test::difference(mine.gradient(), all.gradient(), begin), test::gradient_difference(part, whole)});
}

}  // namespace

TEST_CASE("columns, then rows compute an MLP and its gradients", "[tensor_parallel][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  const RowLayout rows = GENERATE(RowLayout::kWhole, RowLayout::kDivided);
  for (const double worst :
       test::on_tensor_ranks<double>(world_size, [&](Group& group) { return compare(4 * kChannels, 0, group, rows); }))
    CHECK(worst < 1e-12);
}

TEST_CASE("queries, keys and values are cut by heads", "[tensor_parallel][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  const RowLayout rows = GENERATE(RowLayout::kWhole, RowLayout::kDivided);
  for (const double worst : test::on_tensor_ranks<double>(
           world_size, [&](Group& group) { return compare(3 * kChannels, kHeads, group, rows); }))
    CHECK(worst < 1e-12);
}

TEST_CASE("a frozen matrix gets no gradient, with rows whole or divided", "[tensor_parallel][multirank]") {
  const RowLayout rows = GENERATE(RowLayout::kWhole, RowLayout::kDivided);
  // How many of the layer's two parameters have a gradient, and whether the input has one.
  const auto gradients_of = [&](Group& group) {
    const ColumnParallel layer(kChannels, kChannels, 1, nn::InitScope(3, DType::kFloat64), group, rows);
    for (const Variable& parameter : layer.parameters()) parameter.set_requires_grad(false);
    const Range own = own_rows(group, rows);
    const Variable x = Variable::parameter(test::normal_tensor({kRows, kChannels}, 1).rows(own.begin, own.end), "x");
    autograd::sum(layer.forward(x)).backward();
    return std::pair(std::ranges::count_if(layer.parameters(), &Variable::has_gradient), x.has_gradient());
  };
  using Found = std::pair<std::ptrdiff_t, bool>;
  for (const Found& found : test::on_tensor_ranks<Found>(2, gradients_of)) CHECK(found == Found(0, true));
}

TEST_CASE("what ranks cannot divide is refused by name", "[tensor_parallel][multirank]") {
  const auto messages = test::run_ranks(2, [](comm::JobContext job) {
    const auto group = ring::make_shared_memory_process_group(std::move(job));
    const ColumnParallel layer(4, 9, 3, 1, *group);
  });
  for (const test::RankOutcome& outcome : messages)
    CHECK_THAT(outcome.message(), ContainsSubstring("2 ranks cannot divide 3 x 3 columns equally"));
  for (const test::RankOutcome& outcome : test::run_ranks(2, [](comm::JobContext job) {
         const auto group = ring::make_shared_memory_process_group(std::move(job));
         (void)tensor_parallel::scatter_sum(Variable(Tensor::zeros({3, 4})), *group);
       }))
    CHECK_THAT(outcome.message(), ContainsSubstring("2 ranks cannot divide 3 rows equally"));
}
