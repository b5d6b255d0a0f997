// Losses: one element out. Gradients are computed in the same pass as the loss (for float16: in backward).
#include "kernels/loss.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"

namespace lockstep::autograd {
namespace {

Tensor uninitialized_like(const Tensor& tensor) {
  return Tensor::empty(tensor.shape(), tensor.dtype(), tensor.device());
}

Tensor make_scalar(double value, DType dtype) {
  if (dtype == DType::kFloat64) return Tensor::from<double>(std::span(&value, 1), {});
  const auto rounded = static_cast<float>(value);
  return Tensor::from<float>(std::span(&rounded, 1), {});
}

std::vector<std::int64_t> sizes_above_one(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> above(sizes.begin(), sizes.end());
  std::erase(above, 1);
  return above;
}

// The kernels compare counts, which agree for [2, 3] and [3, 2] too.
// @param input  Logits, or what a head makes logits of. @throws ContractError  Not one class of each row.
void require_class_targets(const Tensor& targets, const Tensor& input) {
  const std::span<const std::int64_t> sizes = input.shape().dimensions();
  const std::span<const std::int64_t> leading = sizes.first(sizes.empty() ? 0 : sizes.size() - 1);
  const auto rows = sizes_above_one(leading), given = sizes_above_one(targets.shape().dimensions());
  const bool is_flat = rows.size() <= 1 || given.size() <= 1;  // then only the count matters
  const bool is_fitting = is_flat ? targets.count() == Shape(leading).count() : rows == given;
  require(targets.dtype() == DType::kInt32 && is_fitting, "autograd: cross_entropy() of ", input.dtype(), ' ',
          input.shape(), " with targets ", targets.dtype(), ' ', targets.shape(), "; it needs ", Shape(leading),
          " classes, as int32");
}

// Scales a gradient computed for dLoss = 1 by the dLoss that backward() passes.
void multiply_by(const Tensor& gradient, const Tensor& d_loss) {
  const double factor = d_loss.item();
  if (factor != 1.0) kernels::scale(gradient, factor);
}

// The mean over the rows that have a target, as in PyTorch. The loss is a number on the host, even for a model on a
// device: the training loop reads it in every step.
struct RowLosses {
  Tensor losses;   // [R]
  Tensor targets;  // [R], on the device of the logits
  double scale;    // 1 / number of rows with a target; 0 if there is none

  RowLosses(const Tensor& given, const Tensor& logits)
      : losses(Tensor::empty({given.count()}, kernels::accumulation_dtype(logits.dtype()), logits.device())),
        targets(given.to(logits.device())) {
    require_class_targets(given, logits);
    const std::int64_t counted = target_count(given);
    scale = counted == 0 ? 0.0 : 1.0 / static_cast<double>(counted);
  }
  [[nodiscard]] Tensor mean() const { return make_scalar(kernels::sum(losses) * scale, losses.dtype()); }
};

// The gradient of logits, in their memory and type. In float16, a gradient for dLoss = 1 would underflow before the
// loss scale could lift it into range, so there forward computes only the losses and backward the gradient, for the
// dLoss it gets.
class LogitsGradient {
 public:
  LogitsGradient(Tensor logits, RowLosses rows) : logits_(std::move(logits)), rows_(std::move(rows)) {
    if (is_made_in_backward()) {
      kernels::cross_entropy_loss(rows_.losses, logits_, rows_.targets);
    } else {
      kernels::softmax_cross_entropy(rows_.losses, logits_, rows_.targets, rows_.scale);
    }
    mean_loss_ = rows_.mean();
    if (!is_made_in_backward()) rows_.losses = rows_.targets = Tensor();  // backward has no use for them
  }
  [[nodiscard]] const Tensor& mean_loss() const { return mean_loss_; }
  // Call once, in backward; hands the elements over.
  [[nodiscard]] Tensor take_for(const Tensor& d_loss) {
    if (is_made_in_backward()) {
      kernels::softmax_cross_entropy(rows_.losses, logits_, rows_.targets, rows_.scale * d_loss.item());
    } else {
      multiply_by(logits_, d_loss);
    }
    return std::exchange(logits_, Tensor());
  }

 private:
  [[nodiscard]] bool is_made_in_backward() const { return logits_.dtype() == DType::kFloat16; }

  Tensor logits_;  // [..., V]
  RowLosses rows_;
  Tensor mean_loss_;  // one element
};

// The head and loss with all logits in memory: backward runs the two products.
Variable whole_head_cross_entropy(const Variable& hidden, const Variable& table, const Tensor& targets) {
  const Tensor& x = hidden.value();                                                             // [..., C]
  const Tensor w = weight_for_product(table, x.dtype());                                        // [V, C]
  const Tensor logits = Tensor::empty({targets.count(), w.shape()[0]}, x.dtype(), x.device());  // [R, V]
  kernels::linear_forward(logits, x, w, kernels::Transpose::kYes, Tensor());
  LogitsGradient gradient(logits, RowLosses(targets, x));
  const Tensor loss = gradient.mean_loss();

  return record(
      loss, {hidden, table},
      [hidden, table = table.without_value(), saved = SavedWeight(table, w), gradient](const Tensor& d_loss) mutable {
        const Tensor d_logits = gradient.take_for(d_loss);
        if (hidden.requires_grad()) {
          const auto [d_hidden, write] = hidden.begin_gradient_write();
          kernels::linear_input_gradient(d_hidden, write, d_logits, saved.get(), kernels::Transpose::kYes);
        }
        if (table.requires_grad()) {
          const auto [d_table, write] = table.begin_gradient_write();
          kernels::linear_weight_gradient(d_table, write, hidden.value(), d_logits, kernels::Transpose::kYes);
        }
      });
}

// The head and loss some rows at a time, in float16: forward computes only the losses, as in LogitsGradient, so
// backward multiplies by the table again.
Variable sliced_float16_head_cross_entropy(const Variable& hidden, const Variable& table, const Tensor& targets) {
  const Tensor w = weight_for_product(table, DType::kFloat16);
  const RowLosses rows(targets, hidden.value());
  kernels::linear_cross_entropy(rows.losses, Tensor(), Tensor(), kernels::Write::kOverwrite, hidden.value(), w,
                                rows.targets, rows.scale);

  return record(rows.mean(), {hidden, table},
                [hidden, table = table.without_value(), saved = SavedWeight(table, w), rows](const Tensor& d_loss) {
                  const Tensor weight = saved.get();
                  Tensor d_hidden = uninitialized_like(hidden.value());  // [..., C]
                  Tensor d_table;                                        // [V, C]
                  auto write = kernels::Write::kOverwrite;
                  if (table.requires_grad()) {
                    std::tie(d_table, write) = table.begin_gradient_write();
                  } else {  // computed and dropped
                    d_table = Tensor::empty(weight.shape(), DType::kFloat32, weight.device());
                  }
                  kernels::linear_cross_entropy(rows.losses, d_hidden, d_table, write, hidden.value(), weight,
                                                rows.targets, rows.scale * d_loss.item());
                  if (hidden.requires_grad()) hidden.accumulate_gradient(std::move(d_hidden));
                });
}

// The head and loss some rows at a time: forward computes the gradients, backward passes them on. If the table already
// has a gradient, the new one stays separate until backward: forward does not know its factor, nor whether backward
// follows.
Variable sliced_head_cross_entropy(const Variable& hidden, const Variable& table, const Tensor& targets) {
  const RowLosses rows(targets, hidden.value());
  const auto borrow = [](const Variable& variable) {
    return variable.requires_grad()
               ? borrow_gradient(variable)
               : std::make_shared<GradientLoan>(GradientLoan{uninitialized_like(variable.value())});
  };
  const auto d_hidden = borrow(hidden);  // [..., C]
  const auto d_table = borrow(table);    // [V, C]
  kernels::linear_cross_entropy(rows.losses, d_hidden->tensor, d_table->tensor, kernels::Write::kOverwrite,
                                hidden.value(), weight_for_product(table, hidden.value().dtype()), rows.targets,
                                rows.scale);

  return record(
      rows.mean(), {hidden, table},
      [hidden = hidden.without_value(), table = table.without_value(), d_hidden, d_table](const Tensor& d_loss) {
        multiply_by(d_hidden->tensor, d_loss);
        multiply_by(d_table->tensor, d_loss);
        if (hidden.requires_grad()) return_gradient(hidden, d_hidden);
        if (table.requires_grad()) return_gradient(table, d_table);
      });
}

}  // namespace

Variable mse_loss(const Variable& given, const Tensor& target) {
  const Variable prediction = cast(given, kernels::accumulation_dtype(given.value().dtype()));
  const Tensor& value = prediction.value();
  require(sizes_above_one(value.shape().dimensions()) == sizes_above_one(target.shape().dimensions()),
          "autograd: mse_loss() of ", value.shape(), " with a target ", target.shape(), "; they need the same shape");
  Tensor gradient = will_record({prediction}) ? uninitialized_like(value) : Tensor();
  const double loss = kernels::mean_squared_error(gradient, value, target.to(value.device()));
  return record(make_scalar(loss, value.dtype()), {prediction},
                [prediction = prediction.without_value(), gradient](const Tensor& d_loss) mutable {
                  multiply_by(gradient, d_loss);
                  prediction.accumulate_gradient(std::move(gradient));
                });
}

std::int64_t target_count(const Tensor& targets) {
  if (targets.count() == 0 || targets.dtype() != DType::kInt32) return targets.count();
  const Tensor on_host = targets.to(Device{});
  const auto ids = on_host.span<std::int32_t>();
  return targets.count() - std::count(ids.begin(), ids.end(), kernels::kIgnoredTarget);
}

Variable cross_entropy(Variable logits, const Tensor& targets) {
  const RowLosses rows(targets, logits.value());
  if (!will_record({logits})) {
    kernels::cross_entropy_loss(rows.losses, logits.value(), rows.targets);
    return Variable(rows.mean());
  }
  // The gradient overwrites the logits if nobody else holds them.
  const bool is_ours = !logits.is_parameter() && is_exclusive(logits.value());
  LogitsGradient gradient(is_ours ? logits.value() : logits.value().clone(), rows);
  const Tensor loss = gradient.mean_loss();
  return record(loss, {logits},
                [logits = logits.without_value(), gradient = std::move(gradient)](const Tensor& d_loss) mutable {
                  logits.accumulate_gradient(gradient.take_for(d_loss));
                });
}

Variable head_cross_entropy(const Variable& given, const Variable& table, const Tensor& targets) {
  const Variable hidden = product_operand(given);
  if (!will_record({hidden, table})) {
    const RowLosses rows(targets, hidden.value());
    kernels::linear_cross_entropy(rows.losses, Tensor(), Tensor(), kernels::Write::kOverwrite, hidden.value(),
                                  weight_for_product(table, hidden.value().dtype()), rows.targets, rows.scale);
    return Variable(rows.mean());
  }
  // Small logits are kept until backward; larger ones are never all in memory.
  const Tensor& x = hidden.value();
  const bool is_whole = kernels::rows_of_logits(targets.count(), x.shape()[-1], table.shape()[0], x.dtype(),
                                                x.device().type) == targets.count();
  if (is_whole) return whole_head_cross_entropy(hidden, table, targets);
  return hidden.dtype() == DType::kFloat16 ? sliced_float16_head_cross_entropy(hidden, table, targets)
                                           : sliced_head_cross_entropy(hidden, table, targets);
}

}  // namespace lockstep::autograd
