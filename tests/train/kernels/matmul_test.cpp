#include "kernels/matmul.hpp"

#include "base/error.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

struct Product {
  std::int64_t rows, columns, inner;
};

Shape stored(std::int64_t rows, std::int64_t columns, Transpose transpose) {
  return transpose == Transpose::kNo ? Shape{rows, columns} : Shape{columns, rows};
}

double element(const Values& values, std::int64_t row, std::int64_t column, const Product& p, bool is_left,
               Transpose transpose) {
  const std::int64_t rows = is_left ? p.rows : p.inner, columns = is_left ? p.inner : p.columns;
  return values[static_cast<std::size_t>(transpose == Transpose::kNo ? row * columns + column : column * rows + row)];
}

Values reference(const Product& p, const Tensor& a, Transpose ta, const Tensor& b, Transpose tb,
                 const Values& initial) {
  const Values left = values_of(a), right = values_of(b);
  Values out = initial;
  for (std::int64_t m = 0; m < p.rows; ++m) {
    for (std::int64_t n = 0; n < p.columns; ++n) {
      double& sum = out[static_cast<std::size_t>(m * p.columns + n)];
      for (std::int64_t k = 0; k < p.inner; ++k)
        sum += element(left, m, k, p, true, ta) * element(right, k, n, p, false, tb);
    }
  }
  return out;
}

// A sum of K products of standard normal values has magnitude sqrt(K); each of its K additions rounds by at most
// roundoff times the partial sum, so the error stays well below 4 K sqrt(K) roundoff even in the worst element.
template <typename T>
double tolerance(std::int64_t inner) {
  return 4 * static_cast<double>(inner + 1) * std::sqrt(static_cast<double>(inner) + 1) * kRoundoff<T>;
}

template <typename T>
void check_all_forms(const Product& p) {
  for (const Transpose ta : {Transpose::kNo, Transpose::kYes}) {
    for (const Transpose tb : {Transpose::kNo, Transpose::kYes}) {
      for (const Write write : {Write::kOverwrite, Write::kAdd}) {
        const Tensor a = random_tensor<T>(stored(p.rows, p.inner, ta), 1),
                     b = random_tensor<T>(stored(p.inner, p.columns, tb), 2);
        const Tensor out = random_tensor<T>({p.rows, p.columns}, 3);
        const Values initial = write == Write::kAdd ? values_of(out) : Values(static_cast<std::size_t>(out.count()));
        matmul(out, a, ta, b, tb, write);
        CHECK(largest_difference(out, reference(p, a, ta, b, tb, initial)) <= tolerance<T>(p.inner));
      }
    }
  }
}

}  // namespace

TEST_CASE("matmul agrees with float64 loops in every transposed and accumulating form", "[kernels]") {
  for (const Product& p : {Product{1, 1, 1}, Product{31, 33, 17}, Product{64, 48, 128}, Product{2, 10, 10},
                           Product{1, 70, 65}, Product{129, 5, 1}}) {
    check_all_forms<float>(p);
    check_all_forms<double>(p);
  }
}

TEST_CASE("a linear layer adds its bias to every row and takes leading dimensions as rows", "[kernels]") {
  const Product p{6, 33, 31};
  for (const Transpose transpose : {Transpose::kNo, Transpose::kYes}) {
    const Tensor input = random_tensor<float>({2, 3, p.inner}, 1), bias = random_tensor<float>({p.columns}, 3);
    const Tensor weight = random_tensor<float>(stored(p.inner, p.columns, transpose), 2);
    const Tensor out = Tensor::empty({2, 3, p.columns});
    Values initial;
    for (int row = 0; row < 6; ++row)
      initial.insert(initial.end(), bias.span<float>().begin(), bias.span<float>().end());
    linear_forward(out, input, weight, transpose, bias);
    CHECK(largest_difference(out, reference(p, input, Transpose::kNo, weight, transpose, initial)) <=
          tolerance<float>(p.inner));
    linear_forward(out, input, weight, transpose, {});
    CHECK(largest_difference(out, reference(p, input, Transpose::kNo, weight, transpose, Values(initial.size()))) <=
          tolerance<float>(p.inner));
  }
}

TEST_CASE("a linear layer's gradients agree with finite differences", "[kernels]") {
  for (const Transpose transpose : {Transpose::kNo, Transpose::kYes}) {
    const Tensor input = random_tensor<double>({4, 5}, 1), weight = random_tensor<double>(stored(5, 3, transpose), 2);
    const Tensor bias = random_tensor<double>({3}, 3), out = Tensor::empty({4, 3}, DType::kFloat64);
    const Tensor out_gradient = random_tensor<double>({4, 3}, 4);
    const auto loss = [&] {
      linear_forward(out, input, weight, transpose, bias);
      return weighted_sum(out, out_gradient);
    };
    const Tensor input_grad = input.clone(), weight_grad = weight.clone(), bias_grad = bias.clone();
    linear_input_gradient(input_grad, Write::kOverwrite, out_gradient, weight, transpose);
    linear_weight_gradient(weight_grad, Write::kOverwrite, input, out_gradient, transpose);
    bias_gradient(bias_grad, Write::kOverwrite, out_gradient);
    CHECK(largest_difference(input_grad, finite_differences(input, loss)) < kFiniteDifferenceTolerance);
    CHECK(largest_difference(weight_grad, finite_differences(weight, loss)) < kFiniteDifferenceTolerance);
    CHECK(largest_difference(bias_grad, finite_differences(bias, loss)) < kFiniteDifferenceTolerance);
  }
}

TEST_CASE("products as wide as a head or a large layer take bias and accumulation too", "[kernels]") {
  // Compared with narrow pieces of the same product, which take another path.
  const Tensor x = random_tensor<float>({1100, 520}, 1), w = random_tensor<float>({520, 1030}, 2);
  const Tensor bias = random_tensor<float>({1030}, 3), out = Tensor::empty({1100, 1030}),
               piece = Tensor::empty({50, 1030});
  linear_forward(out, x, w, Transpose::kNo, bias);
  linear_forward(piece, x.rows(1050, 1100), w, Transpose::kNo, bias);
  CHECK(largest_difference(out.rows(1050, 1100), values_of(piece)) <= 2 * tolerance<float>(520));

  const Tensor table = random_tensor<float>({33'000, 8}, 4), hidden = random_tensor<float>({20, 8}, 5);
  const Tensor logits = Tensor::empty({20, 33'000}), dtable = Tensor::zeros({33'000, 8}),
               dhidden = Tensor::empty({20, 8});
  matmul(logits, hidden, Transpose::kNo, table, Transpose::kYes);
  matmul(dhidden, logits, Transpose::kNo, table, Transpose::kNo);
  matmul(dtable, logits, Transpose::kYes, hidden, Transpose::kNo, Write::kAdd);
  matmul(dtable, logits, Transpose::kYes, hidden, Transpose::kNo, Write::kAdd);
  const Product forward{20, 33'000, 8};
  const Values zeros(20 * 33'000);
  CHECK(largest_difference(logits, reference(forward, hidden, Transpose::kNo, table, Transpose::kYes, zeros)) <=
        tolerance<float>(8));
  // Logits are of magnitude sqrt(8), so a sum of K such products has magnitude sqrt(8 K); its error grows accordingly.
  const Values expected_hidden = reference({20, 8, 33'000}, logits, Transpose::kNo, table, Transpose::kNo, Values(160));
  CHECK(largest_difference(dhidden, expected_hidden) <= 3 * tolerance<float>(33'000));
  Values expected = reference({33'000, 8, 20}, logits, Transpose::kYes, hidden, Transpose::kNo, Values(33'000 * 8));
  for (double& value : expected) value *= 2;
  CHECK(largest_difference(dtable, expected) <= 2 * 3 * tolerance<float>(20));
}

TEST_CASE("a bias gradient sums rows and adds or overwrites", "[kernels]") {
  for (const std::int64_t rows : {1, 63, 64, 65, 300}) {
    const Tensor gradient = random_tensor<float>({rows, 33}, 1), sums = random_tensor<float>({33}, 2);
    Values expected = values_of(sums);
    const Values from = values_of(gradient);
    for (std::size_t i = 0; i < from.size(); ++i) expected[i % 33] += from[i];
    bias_gradient(sums, Write::kAdd, gradient);
    // Worst case of adding in blocks: (64 + rows / 64) additions, each rounding a sum of magnitude 4 sqrt(rows).
    const double bound =
        (64 + static_cast<double>(rows) / 64) * 4 * std::sqrt(static_cast<double>(rows)) * kRoundoff<float>;
    CHECK(largest_difference(sums, expected) <= bound);
    const Tensor again = sums.clone();
    bias_gradient(again, Write::kOverwrite, gradient);
    bias_gradient(sums, Write::kOverwrite, gradient);
    CHECK(equal_bits(sums, again));
  }
}

TEST_CASE("products of empty matrices are zeros or nothing", "[kernels]") {
  const Tensor out = random_tensor<float>({2, 3}, 1);
  matmul(out, Tensor::empty({2, 0}), Transpose::kNo, Tensor::empty({0, 3}), Transpose::kNo);
  CHECK(largest_difference(out, Values(6)) == 0);
  CHECK_NOTHROW(
      matmul(Tensor::empty({0, 3}), Tensor::empty({0, 4}), Transpose::kNo, Tensor::empty({4, 3}), Transpose::kNo));
}

TEST_CASE("a product of shapes that do not fit names them", "[kernels]") {
  const Tensor a = Tensor::empty({2, 3}), b = Tensor::empty({4, 5}), out = Tensor::empty({2, 5});
  CHECK_THROWS_WITH(matmul(out, a, Transpose::kNo, b, Transpose::kNo),
                    ContainsSubstring("[2, 3]") && ContainsSubstring("[4, 5]"));
  CHECK_THROWS_AS(matmul(out, a, Transpose::kNo, Tensor::empty({3, 5}, DType::kFloat64), Transpose::kNo),
                  ContractError);
  CHECK_THROWS_AS(linear_forward(out, a, Tensor::empty({3, 5}), Transpose::kNo, Tensor::empty({4})), ContractError);
}
