// Softmax, layer norm and transpose: problems of rows and columns.
#include <algorithm>
#include <numeric>

#include "04_kernels/measure/ladder_problem.hpp"
#include "04_kernels/measure/problems.hpp"

namespace lockstep::ladders {

namespace {

struct Matrix {
  int rows = 0, columns = 0;

  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }
  [[nodiscard]] std::span<const float> row(std::span<const float> values, int index) const {
    return values.subspan(count() / static_cast<std::size_t>(rows) * static_cast<std::size_t>(index),
                          static_cast<std::size_t>(columns));
  }
};

/// A problem with one input and one output matrix of equal count.
template <typename Function>
class MatrixProblem : public LadderProblem<Function> {
 public:
  MatrixProblem(Matrix matrix, Ladder<Function> ladder, std::vector<float> values)
      : LadderProblem<Function>(ladder),
        matrix_(matrix),
        host_in_(std::move(values)),
        in_(std::span<const float>(host_in_)),
        out_(matrix.count()) {}

  void reset() override { out_.poison(); }

  [[nodiscard]] Verdict verdict() const override {
    if (expected_.empty()) expected_ = expected();
    return compare(out_.to_host(), expected_);
  }

 protected:
  [[nodiscard]] bool is_met(Requirement requirement) const override { return meets(requirement, matrix_.columns); }

  [[nodiscard]] virtual std::vector<Expected> expected() const = 0;

  /// 4 bytes in and 4 out per element.
  [[nodiscard]] Cost cost_of(double operations_each) const {
    const auto count = static_cast<double>(matrix_.count());
    return {.bytes = 8 * count, .operations = operations_each * count, .elements = count};
  }

  Matrix matrix_;
  std::vector<float> host_in_;
  DeviceArray<float> in_, out_;

 private:
  mutable std::vector<Expected> expected_;
};

class SoftmaxProblem : public MatrixProblem<Softmax> {
 public:
  SoftmaxProblem(Matrix matrix, const Registry& registry)
      : MatrixProblem(matrix, registry.softmax, real_numbers(matrix.count(), 8, 1)) {}

  void enqueue(int rung, cudaStream_t stream) override {
    function(rung)(out_.data(), in_.data(), matrix_.rows, matrix_.columns, stream);
  }

  [[nodiscard]] Cost cost() const override { return cost_of(5); }

 protected:
  /// x - max rounds by at most 16 units, which is also the relative error it leaves in the exponential; expf itself
  /// errs by 4 more. A sum of positive terms loses one unit per addition; online softmax multiplies and adds.
  [[nodiscard]] std::vector<Expected> expected() const override {
    const double allowed = (2 * 20 + 2 * matrix_.columns + 16) * kUnit;
    std::vector<Expected> expected;
    for (int index = 0; index < matrix_.rows; ++index) {
      const auto row = matrix_.row(host_in_, index);
      const double largest = std::ranges::max(row);
      double sum = 0;
      for (const float x : row) sum += std::exp(x - largest);
      for (const float x : row) {
        const double value = std::exp(x - largest) / sum;
        expected.push_back({value, value * allowed});
      }
    }
    return expected;
  }
};

class LayerNormProblem : public MatrixProblem<LayerNorm> {
 public:
  LayerNormProblem(Matrix matrix, const Registry& registry)
      : MatrixProblem(matrix, registry.layer_norm, real_numbers(matrix.count(), 2, 1)),
        host_weight_(real_numbers(static_cast<std::size_t>(matrix.columns), 1, 2)),
        host_bias_(real_numbers(static_cast<std::size_t>(matrix.columns), 1, 3)),
        weight_(std::span<const float>(host_weight_)),
        bias_(std::span<const float>(host_bias_)) {}

  void enqueue(int rung, cudaStream_t stream) override {
    function(rung)(out_.data(), {in_.data(), weight_.data(), bias_.data(), matrix_.rows, matrix_.columns}, stream);
  }

  [[nodiscard]] Cost cost() const override { return cost_of(8); }

 protected:
  /// The mean and variance of n values of at most 2 lose at most n units of 2 and of 4; both reach the result through a
  /// scale, plus a handful of roundings.
  [[nodiscard]] std::vector<Expected> expected() const override {
    std::vector<Expected> expected;
    const double columns = matrix_.columns;
    for (int index = 0; index < matrix_.rows; ++index) {
      const auto row = matrix_.row(host_in_, index);
      const double mean = std::accumulate(row.begin(), row.end(), 0.0) / columns;
      double squares = 0;
      for (const float x : row) squares += (x - mean) * (x - mean);
      const double scale = 1 / std::sqrt(squares / columns + double{kNormEpsilon});
      const double mean_error = 2 * (columns + 2) * kUnit, scale_error = (columns + 16) * kUnit;  // one relative
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double normalized = (row[i] - mean) * scale;
        const double error = mean_error * scale + (scale_error + 8 * kUnit) * std::abs(normalized) + 4 * kUnit;
        expected.push_back({normalized * host_weight_[i] + host_bias_[i], error});
      }
    }
    return expected;
  }

 private:
  std::vector<float> host_weight_, host_bias_;
  DeviceArray<float> weight_, bias_;
};

class TransposeProblem : public MatrixProblem<Transpose> {
 public:
  TransposeProblem(Matrix matrix, const Registry& registry)
      : MatrixProblem(matrix, registry.transpose, numbered(matrix.count())) {}

  void enqueue(int rung, cudaStream_t stream) override {
    function(rung)(out_.data(), in_.data(), matrix_.rows, matrix_.columns, stream);
  }

  [[nodiscard]] Cost cost() const override { return cost_of(0); }

 protected:
  [[nodiscard]] std::vector<Expected> expected() const override {
    std::vector<Expected> expected;
    for (int column = 0; column < matrix_.columns; ++column) {
      for (int index = 0; index < matrix_.rows; ++index) {
        expected.push_back({matrix_.row(host_in_, index)[static_cast<std::size_t>(column)], 0});
      }
    }
    return expected;
  }

 private:
  /// Every element holds its own index, exact for up to 2^24 elements.
  static std::vector<float> numbered(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0F);
    return values;
  }
};

template <typename Kind>
std::unique_ptr<Problem> make(std::span<const int> sizes, const Registry& registry) {
  return std::make_unique<Kind>(Matrix{sizes[0], sizes[1]}, registry);
}

}  // namespace

std::unique_ptr<Problem> make_softmax(std::span<const int> sizes, const Registry& registry) {
  return make<SoftmaxProblem>(sizes, registry);
}

std::unique_ptr<Problem> make_layer_norm(std::span<const int> sizes, const Registry& registry) {
  return make<LayerNormProblem>(sizes, registry);
}

std::unique_ptr<Problem> make_transpose(std::span<const int> sizes, const Registry& registry) {
  return make<TransposeProblem>(sizes, registry);
}

}  // namespace lockstep::ladders
