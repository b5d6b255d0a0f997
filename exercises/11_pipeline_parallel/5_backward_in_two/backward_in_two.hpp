#pragma once
/// @file
/// Given: a stage whose backward pass is done in two parts, and the lists that say when, for exercise 11.5.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "11_pipeline_parallel/schedules/schedule.hpp"  // IWYU pragma: export
#include "base/error.hpp"
#include "exercise/todo.hpp"  // IWYU pragma: export

namespace lockstep::pipeline {

/// A matrix, row after row.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> elements = {};  ///< [rows * columns]

  /// All elements are 0.
  [[nodiscard]] static Matrix zeros(std::int64_t rows, std::int64_t columns) {
    return {rows, columns, std::vector<float>(static_cast<std::size_t>(rows * columns))};
  }
  [[nodiscard]] float& at(std::int64_t row, std::int64_t column) {
    return elements[static_cast<std::size_t>(row * columns + column)];
  }
  [[nodiscard]] float at(std::int64_t row, std::int64_t column) const {
    return elements[static_cast<std::size_t>(row * columns + column)];
  }
};

/// The three products of a layer, y = x W. Counts them, because they are what a pass costs.
class Products {
 public:
  /// x W. @param x  [R, K]. @param weight  [K, C]. @return  [R, C].
  [[nodiscard]] Matrix output(const Matrix& x, const Matrix& weight) {
    require(x.columns == weight.rows, "x has ", x.columns, " columns, and the weight ", weight.rows, " rows");
    Matrix y = Matrix::zeros(x.rows, weight.columns);
    for (std::int64_t i = 0; i < y.rows; ++i)
      for (std::int64_t k = 0; k < weight.rows; ++k)
        for (std::int64_t j = 0; j < y.columns; ++j) y.at(i, j) += x.at(i, k) * weight.at(k, j);
    ++outputs_;
    return y;
  }

  /// The gradient of x: d_y times the transposed W. @param d_y  [R, C]. @param weight  [K, C]. @return  [R, K].
  [[nodiscard]] Matrix input_gradient(const Matrix& d_y, const Matrix& weight) {
    require(d_y.columns == weight.columns, "d_y has ", d_y.columns, " columns, and the weight ", weight.columns);
    Matrix d_x = Matrix::zeros(d_y.rows, weight.rows);
    for (std::int64_t i = 0; i < d_x.rows; ++i)
      for (std::int64_t k = 0; k < d_x.columns; ++k)
        for (std::int64_t j = 0; j < d_y.columns; ++j) d_x.at(i, k) += d_y.at(i, j) * weight.at(k, j);
    ++input_gradients_;
    return d_x;
  }

  /// Adds the gradient of W, the transposed x times d_y, to `sum`.
  /// @param sum  [K, C]. @param x  [R, K]. @param d_y  [R, C].
  void add_weight_gradient(Matrix& sum, const Matrix& x, const Matrix& d_y) {
    require(x.rows == d_y.rows, "x has ", x.rows, " rows, and d_y ", d_y.rows);
    require(sum.rows == x.columns && sum.columns == d_y.columns, "the sum is [", sum.rows, ", ", sum.columns,
            "], and the gradient [", x.columns, ", ", d_y.columns, "]");
    for (std::int64_t k = 0; k < sum.rows; ++k)
      for (std::int64_t i = 0; i < x.rows; ++i)
        for (std::int64_t j = 0; j < sum.columns; ++j) sum.at(k, j) += x.at(i, k) * d_y.at(i, j);
    ++weight_gradients_;
  }

  /// How often each of them was called.
  [[nodiscard]] std::int64_t outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::int64_t input_gradients() const noexcept { return input_gradients_; }
  [[nodiscard]] std::int64_t weight_gradients() const noexcept { return weight_gradients_; }

 private:
  std::int64_t outputs_ = 0, input_gradients_ = 0, weight_gradients_ = 0;
};

/// A weight, and the sum of its gradients in this step.
struct Weight {
  Matrix value = {};
  Matrix gradient = {};
};

/// The layers of one rank. Each sets the negative elements of its input to 0 and multiplies the result by its weight.
struct Stage {
  std::vector<Weight> weights = {};      ///< All [C, C].
  std::vector<std::size_t> layers = {};  ///< By layer, from the first to the last: the index of its weight. Several
                                         ///< layers may share one.
};

/// Kept of one micro-batch from F to W.
struct Held {
  std::vector<Matrix> inputs = {};     ///< By layer, [R, C]: its input with zeros in place of what was negative.
  std::vector<Matrix> gradients = {};  ///< For W: what your B writes, as your W reads it. Empty before B.
};

/// F: given. @param input  [R, C]. @param held  Gets the inputs of all layers. @return  The output, [R, C].
[[nodiscard]] inline Matrix forward(const Stage& stage, Matrix input, Held& held, Products& products) {
  for (const std::size_t weight : stage.layers) {
    for (float& element : input.elements)
      if (element < 0) element = 0;
    Matrix output = products.output(input, stage.weights[weight].value);
    held.inputs.push_back(std::move(input));
    input = std::move(output);
  }
  return input;
}

/// B: the part of the backward pass for which the stage before waits.
///
/// @param held             From forward(). Afterwards it has all that backward_weights() needs: 2 R C elements for each
///                         layer, and no more.
/// @param output_gradient  [R, C]: from the stage after.
/// @return  The gradient of the stage's input, [R, C]. The gradient of an element that F set to 0 is 0.
/// @cost    One product for each layer.
[[nodiscard]] Matrix backward_input(const Stage& stage, Held& held, const Matrix& output_gradient, Products& products);

/// W: the rest, for which nobody waits until the optimizer's step. Adds this micro-batch's gradients to those of the
/// weights.
/// @param held  As backward_input() has left it. Afterwards it is empty.
/// @cost        One product for each layer.
void backward_weights(Stage& stage, Held& held, Products& products);

/// The three things that a rank does with a micro-batch.
enum class Part {
  kForward,         ///< F
  kInputGradient,   ///< B
  kWeightGradients  ///< W
};

/// One of them, for one micro-batch.
struct Task {
  Part part = Part::kForward;
  int micro_batch = 0;  ///< In [0, micro-batches).

  friend bool operator==(const Task&, const Task&) = default;
};

/// The order in which each rank does its tasks, with one stage on each rank. F, B and W take one unit each on every
/// rank, and messages take no time. F needs the output of F on the rank before, and B the gradient from B on the rank
/// after (the last rank has the loss), and its own F. W needs only its own B.
///
/// @param ranks          p, at least 1.
/// @param micro_batches  m, at least 1; may be less than the ranks.
/// @return  By rank. From the beginning of F to the end of W a rank holds a micro-batch; no rank ever holds more than
///          p. Within that the step is as short as possible: 2m + p - 1 + max(m, p) units. Each of F, B and W takes
///          the micro-batches in the order 0, 1, 2, ...
/// @source  Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2.
[[nodiscard]] std::vector<std::vector<Task>> split_schedule(int ranks, int micro_batches);

}  // namespace lockstep::pipeline
