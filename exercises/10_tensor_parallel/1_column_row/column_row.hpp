#pragma once
/// @file
/// Given: an MLP whose two matrices are cut among the ranks of a group, for exercise 10.1.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/philox.hpp"
#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::tensor_parallel {

using exercise::Collectives;
using exercise::Work;

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

/// a b. @param a  [R, K]. @param b  [K, C]. @return  [R, C].
[[nodiscard]] inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result = Matrix::zeros(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      for (std::int64_t j = 0; j < b.columns; ++j) result.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return result;
}

/// Adds `bias` to each row. @param bias  [matrix.columns].
inline void add_bias(Matrix& matrix, std::span<const float> bias) {
  for (std::int64_t i = 0; i < matrix.rows; ++i)
    for (std::int64_t j = 0; j < matrix.columns; ++j) matrix.at(i, j) += bias[static_cast<std::size_t>(j)];
}

/// max(x, 0) of each element.
inline void relu(Matrix& matrix) {
  for (float& element : matrix.elements) element = std::max(element, 0.0F);
}

/// Dropout with a probability of 1/2: sets elements to 0 and doubles the others. The choice depends on the seed and
/// on the element's place in the whole matrix, and on nothing else.
/// @param part          Some neighbouring columns of a whole matrix, or all.
/// @param first_column  The column of the whole matrix that is column 0 of `part`.
/// @param all_columns   Columns of the whole matrix.
inline void drop(Matrix& part, std::uint64_t seed, std::int64_t first_column, std::int64_t all_columns) {
  for (std::int64_t i = 0; i < part.rows; ++i) {
    for (std::int64_t j = 0; j < part.columns; ++j) {
      const auto place = static_cast<std::uint64_t>(i * all_columns + first_column + j);
      part.at(i, j) = mix64(seed, place) % 2 == 0 ? 0.0F : 2.0F * part.at(i, j);
    }
  }
}

/// The weights of an MLP with C channels and H hidden ones. Its output is that of these six lines:
///
///     Matrix hidden = product(input, mlp.wide);      // [R, H]
///     add_bias(hidden, mlp.wide_bias);
///     relu(hidden);
///     drop(hidden, seeds.hidden, 0, H);
///     Matrix output = product(hidden, mlp.narrow);   // [R, C]
///     add_bias(output, mlp.narrow_bias), drop(output, seeds.output, 0, C);
struct Mlp {
  Matrix wide = {};                     ///< [C, H]
  std::vector<float> wide_bias = {};    ///< [H]
  Matrix narrow = {};                   ///< [H, C]
  std::vector<float> narrow_bias = {};  ///< [C]
};

/// Seeds of the two dropouts in one step, the same on all ranks.
struct Seeds {
  std::uint64_t hidden = 0;
  std::uint64_t output = 0;
};

/// A rank's share of an Mlp. Rank r of N has the hidden channels [H r / N, H (r + 1) / N), rounded down: h of them.
struct MlpShare {
  std::int64_t first_hidden = 0;        ///< H r / N
  std::int64_t all_hidden = 0;          ///< H
  Matrix wide = {};                     ///< [C, h]: these columns of the whole.
  std::vector<float> wide_bias = {};    ///< [h]: these elements of the whole.
  Matrix narrow = {};                   ///< [h, C]: these rows of the whole.
  std::vector<float> narrow_bias = {};  ///< At most C numbers, whatever forward() needs.
};

/// The samples of a step, which are dealt to readers as a distributed sampler deals them.
class Samples {
 public:
  /// @param batch  [B, C]
  explicit Samples(Matrix batch) : batch_(std::move(batch)) {}

  /// The samples of one of `readers` readers: rows reader, reader + readers, ... of the batch. No two readers
  /// share one.
  [[nodiscard]] Matrix of(int reader, int readers) const {
    Matrix dealt = Matrix::zeros(0, batch_.columns);
    for (std::int64_t row = reader; row < batch_.rows; row += readers, ++dealt.rows) {
      const auto begin = batch_.elements.begin() + row * batch_.columns;
      dealt.elements.insert(dealt.elements.end(), begin, begin + batch_.columns);
    }
    return dealt;
  }

 private:
  Matrix batch_;
};

/// This rank's share of an MLP. @param rank  In [0, ranks). @param ranks  From 1 to H.
[[nodiscard]] MlpShare share_of(const Mlp& whole, int rank, int ranks);

/// The output of the whole MLP for all samples of the step. All ranks call this together, each with its share.
/// @return  [B, C]: the same bits on all ranks as one rank computes with the whole Mlp.
/// @cost    One all-reduce of B C elements, and nothing else.
/// @source  Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism",
///          2019, section 3.
[[nodiscard]] Matrix forward(const Samples& samples, const MlpShare& share, const Seeds& seeds, Collectives& group);

}  // namespace lockstep::tensor_parallel
