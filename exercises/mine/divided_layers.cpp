#include "mine/divided_layers.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "10_tensor_parallel/1_column_row/column_row.hpp"
#include "10_tensor_parallel/2_both_backwards/both_backwards.hpp"
#include "10_tensor_parallel/3_vocabulary_loss/vocabulary_loss.hpp"
#include "10_tensor_parallel/gpt/tensor_step.hpp"
#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "nn/layers.hpp"

namespace lockstep::mine {
namespace {

using autograd::Variable;
using tensor_parallel::Matrix;
using tensor_parallel::Mlp;
using tensor_parallel::RowLayout;

const std::array kParts = {Part{"MLP's cut", {"10.1"}}, Part{"exchange", {"10.2"}}, Part{"loss", {"10.3"}}};

Matrix matrix_of(const Tensor& weight) {
  const std::span<const float> elements = weight.span<float>();
  return {weight.shape()[0], weight.shape()[1], {elements.begin(), elements.end()}};
}

// Replaces the initial values of a layer's matrix by what 10.1 has cut.
void set_weight(const nn::Projection& layer, const Matrix& part, const char* name) {
  const Tensor weight = layer.named_parameters().front().parameter.value();
  const bool fits = part.rows == weight.shape()[0] && part.columns == weight.shape()[1] &&
                    std::ssize(part.elements) == weight.count();
  require(fits, "10.1: share_of() has cut `", name, "` to [", part.rows, ", ", part.columns, "] with ",
          part.elements.size(), " elements; this rank's part is ", weight.shape());
  std::ranges::copy(part.elements, weight.span<float>().begin());
}

using Exchange = Variable (*)(const Variable&, tensor_parallel::Collectives&);

// One of the two functions of 10.2. A backward pass of theirs that left something unfinished is found here, too.
Variable exchanged(Exchange function, const Variable& input, GroupCollectives& collectives) {
  collectives.require_awaited("10.2: a backward pass");
  Variable output = function(input, collectives);
  collectives.require_awaited("10.2: a forward pass");
  return output;
}

class Columns final : public tensor_parallel::ColumnParallel {
 public:
  Columns(GroupCollectives& collectives, std::int64_t inputs, std::int64_t outputs, int packed,
          const nn::InitScope& scope, comm::ProcessGroup& group)
      : ColumnParallel(inputs, outputs, packed, scope, group), collectives_(collectives) {}

 private:
  [[nodiscard]] Variable entering(const Variable& input) const override {
    return exchanged(tensor_parallel::copy_to_ranks, input, collectives_);
  }

  GroupCollectives& collectives_;
};

class Rows final : public tensor_parallel::RowParallel {
 public:
  Rows(GroupCollectives& collectives, std::int64_t inputs, std::int64_t outputs, double deviation,
       const nn::InitScope& scope, comm::ProcessGroup& group)
      : RowParallel(inputs, outputs, deviation, scope, group), collectives_(collectives) {}

 private:
  [[nodiscard]] Variable leaving(const Variable& partial) const override {
    return exchanged(tensor_parallel::sum_over_ranks, partial, collectives_);
  }

  GroupCollectives& collectives_;
};

// Whose functions a table uses.
struct TableParts {
  bool exchanges, has_loss;
  GroupCollectives& collectives;
};

class Table final : public tensor_parallel::VocabularyParallelTable {
 public:
  Table(TableParts theirs, const nn::GptConfig& config, nn::Owner owner, const nn::InitScope& scope,
        comm::ProcessGroup& group, RowLayout rows)
      : VocabularyParallelTable(config, owner, scope, group, rows),
        theirs_(theirs),
        first_token_(tensor_parallel::share_of(config.vocabulary_size, group).begin) {}

 private:
  [[nodiscard]] Variable leaving(const Variable& partial) const override {
    if (!theirs_.exchanges) return VocabularyParallelTable::leaving(partial);
    return exchanged(tensor_parallel::sum_over_ranks, partial, theirs_.collectives);
  }

  [[nodiscard]] Variable entering(const Variable& hidden) const override {
    if (!theirs_.exchanges) return VocabularyParallelTable::entering(hidden);
    return exchanged(tensor_parallel::copy_to_ranks, hidden, theirs_.collectives);
  }

  [[nodiscard]] Variable loss_of_whole(const Variable& hidden, const Tensor& targets) const override {
    if (!theirs_.has_loss) return VocabularyParallelTable::loss_of_whole(hidden, targets);
    const Variable logits = autograd::linear(hidden, weight(), {});  // [B, T, V/t]
    const tensor_parallel::LogitsShare share{.rows = targets.count(),
                                             .columns = weight().shape()[0],
                                             .first_column = first_token_,
                                             .elements = logits.value().span<float>()};
    const tensor_parallel::VocabularyLoss result =
        tensor_parallel::vocabulary_cross_entropy(share, targets.span<std::int32_t>(), theirs_.collectives);
    theirs_.collectives.require_awaited("10.3: vocabulary_cross_entropy()");
    require(result.gradient.size() == share.elements.size(), "10.3: the gradient of ", share.elements.size(),
            " logits has ", result.gradient.size(), " elements");
    const auto loss = static_cast<float>(result.loss);
    return autograd::record(Tensor::from<float>(std::span(&loss, 1), {}), {logits},
                            [logits = logits.without_value(), gradient = result.gradient](const Tensor& d_loss) {
                              const Tensor d_logits = Tensor::from<float>(gradient, logits.shape());
                              const auto scale = static_cast<float>(d_loss.item());
                              for (float& element : d_logits.span<float>()) element *= scale;
                              logits.accumulate_gradient(d_logits);
                            });
  }

  TableParts theirs_;
  std::int64_t first_token_;
};

}  // namespace

std::span<const Part> tensor_parts() { return kParts; }

DividedLayers::DividedLayers(const Fingerprints& files, comm::ProcessGroup& group,
                             const tensor_parallel::Options& options)
    : TensorLayers(group, options.rows()),
      group_(group),
      rows_(options.rows()),
      cuts_(is_learners(kParts[0], files)),
      exchanges_(is_learners(kParts[1], files) && rows_ == RowLayout::kWhole),
      sums_norms_(is_learners(kParts[1], files)),
      has_loss_(is_learners(kParts[2], files)),
      collectives_(std::make_unique<GroupCollectives>(group)) {
  if (!files.empty() && options.device.name != "cpu")
    throw UsageError("10.1 to 10.3 work in host memory: train with --device cpu");
  if ((sums_norms_ || has_loss_) && options.model.bf16)
    throw UsageError("10.2 and 10.3 work on float32: leave out --bf16");
}

std::unique_ptr<nn::Projection> DividedLayers::wide(std::int64_t inputs, std::int64_t outputs, int packed,
                                                    const nn::InitScope& scope) const {
  std::unique_ptr<nn::Projection> layer;
  if (exchanges_) {
    layer = std::make_unique<Columns>(*collectives_, inputs, outputs, packed, scope, group_);
  } else {
    layer = TensorLayers::wide(inputs, outputs, packed, scope);
  }
  if (!cuts_ || packed != 1) return layer;  // 10.1 cuts no heads
  const Mlp whole{.wide = matrix_of(scope.normal("weight", Shape{inputs, outputs}, 0.02)),
                  .wide_bias = std::vector<float>(static_cast<std::size_t>(outputs)),
                  .narrow = Matrix::zeros(outputs, inputs),  // of another layer
                  .narrow_bias = std::vector<float>(static_cast<std::size_t>(inputs))};
  set_weight(*layer, tensor_parallel::share_of(whole, group_.rank(), group_.world_size()).wide, "wide");
  return layer;
}

std::unique_ptr<nn::Projection> DividedLayers::narrow(std::int64_t inputs, std::int64_t outputs, double deviation,
                                                      const nn::InitScope& scope) const {
  std::unique_ptr<nn::Projection> layer;
  if (exchanges_) {
    layer = std::make_unique<Rows>(*collectives_, inputs, outputs, deviation, scope, group_);
  } else {
    layer = TensorLayers::narrow(inputs, outputs, deviation, scope);
  }
  if (!cuts_ || inputs == outputs) return layer;           // the projection after attention
  const Mlp whole{.wide = Matrix::zeros(outputs, inputs),  // of another layer
                  .wide_bias = std::vector<float>(static_cast<std::size_t>(inputs)),
                  .narrow = matrix_of(scope.normal("weight", Shape{inputs, outputs}, deviation)),
                  .narrow_bias = std::vector<float>(static_cast<std::size_t>(outputs))};
  set_weight(*layer, tensor_parallel::share_of(whole, group_.rank(), group_.world_size()).narrow, "narrow");
  return layer;
}

std::unique_ptr<nn::TokenTable> DividedLayers::table(const nn::GptConfig& config, nn::Owner owner,
                                                     const nn::InitScope& scope) const {
  const TableParts theirs{.exchanges = exchanges_, .has_loss = has_loss_, .collectives = *collectives_};
  return std::make_unique<Table>(theirs, config, owner, scope, group_, rows_);
}

void DividedLayers::sum_partial_gradients(nn::Module& model) const {
  if (!sums_norms_) return tensor_parallel::sum_partial_gradients(model, group_);
  std::vector<Variable> norms;
  for (const nn::NamedModule& named : model.named_modules()) {
    if (dynamic_cast<const nn::LayerNorm*>(&named.module) == nullptr) continue;
    for (const Variable& parameter : named.module.parameters()) norms.push_back(parameter);
  }
  tensor_parallel::sum_partial_gradients(norms, *collectives_);
  collectives_->require_awaited("10.2: sum_partial_gradients()");
}

}  // namespace lockstep::mine
