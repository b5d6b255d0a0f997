// Losses: one element out, gradients made in the same pass as the loss.
#include "kernels/loss.hpp"

#include <algorithm>

#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/node.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"

namespace lockstep::autograd {
namespace {

Tensor empty_like(const Tensor& tensor) { return Tensor::empty(tensor.shape(), tensor.dtype(), tensor.device()); }

Tensor make_scalar(double value, DType dtype) {
  if (dtype == DType::kFloat64) return Tensor::from<double>(std::span(&value, 1), {});
  const auto rounded = static_cast<float>(value);
  return Tensor::from<float>(std::span(&rounded, 1), {});
}

// A gradient made for dLoss = 1, made right for what backward() brings.
void multiply_by(const Tensor& gradient, const Tensor& d_loss) {
  const double factor = d_loss.item();
  if (factor != 1.0) kernels::scale(gradient, factor);
}

// The mean over the rows that have a target, as in PyTorch. The loss is a number on the host, wherever the model is:
// who trains reads it in every step.
struct RowLosses {
  Tensor losses;   // [R]
  Tensor targets;  // [R], where the logits are
  double scale;    // 1 / number of rows with a target; 0 where there is none

  RowLosses(const Tensor& given, const Tensor& logits)
      : losses(Tensor::empty({given.count()}, kernels::accumulation_dtype(logits.dtype()), logits.device())),
        targets(given.to(logits.device())) {
    const std::int64_t counted = target_count(given);
    scale = counted == 0 ? 0.0 : 1.0 / static_cast<double>(counted);
  }
  [[nodiscard]] Tensor mean() const { return make_scalar(kernels::sum(losses) * scale, losses.dtype()); }
};

// The head and loss with all logits in memory: backward runs the two products.
Variable whole_head_cross_entropy(const Variable& hidden, const Variable& table, const Tensor& targets) {
  const Tensor& x = hidden.value();                                                             // [..., C]
  const Tensor w = weight_for_product(table, x.dtype());                                        // [V, C]
  const Tensor logits = Tensor::empty({targets.count(), w.shape()[0]}, x.dtype(), x.device());  // [R, V]
  kernels::linear_forward(logits, x, w, kernels::Transpose::kYes, Tensor());
  const RowLosses rows(targets, x);
  kernels::softmax_cross_entropy(rows.losses, logits, rows.targets, rows.scale);

  return record(
      rows.mean(), {hidden, table},
      [hidden, table = table.without_value(), saved = SavedWeight(table, w), d_logits = logits](const Tensor& d_loss) {
        multiply_by(d_logits, d_loss);
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

// The head and loss some rows at a time: gradients are made in forward, backward hands them on.
Variable sliced_head_cross_entropy(const Variable& hidden, const Variable& table, const Tensor& targets) {
  const RowLosses rows(targets, hidden.value());
  const auto borrow = [](const Variable& variable) {
    return variable.requires_grad() ? borrow_gradient(variable)
                                    : std::make_shared<GradientLoan>(GradientLoan{empty_like(variable.value())});
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
  Tensor gradient = will_record({prediction}) ? empty_like(value) : Tensor();
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
  // The gradient takes the place of the logits where nobody else holds them.
  const bool is_ours = !logits.is_parameter() && is_exclusive(logits.value());
  Tensor gradient = is_ours ? logits.value() : logits.value().clone();  // [..., V]
  kernels::softmax_cross_entropy(rows.losses, gradient, rows.targets, rows.scale);
  return record(rows.mean(), {logits}, [logits = logits.without_value(), gradient](const Tensor& d_loss) mutable {
    multiply_by(gradient, d_loss);
    logits.accumulate_gradient(std::move(gradient));
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
  const bool is_whole =
      kernels::rows_of_logits(targets.count(), x.shape()[-1], table.shape()[0], x.dtype()) == targets.count();
  return is_whole ? whole_head_cross_entropy(hidden, table, targets)
                  : sliced_head_cross_entropy(hidden, table, targets);
}

}  // namespace lockstep::autograd
