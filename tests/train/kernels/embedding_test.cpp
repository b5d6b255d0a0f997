#include "kernels/embedding.hpp"

#include "base/error.hpp"
#include "kernels/testing.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

constexpr std::int64_t B = 3, T = 5, C = 33, V = 17, P = 7;

}  // namespace

TEST_CASE("an embedding is the token's row plus the position's row", "[kernels]") {
  const Tensor tokens = random_ids({B, T}, V, 1), table = random_tensor<float>({V, C}, 2),
               positions = random_tensor<float>({P, C}, 3);
  const Tensor out = Tensor::empty({B, T, C}), bare = Tensor::empty({B, T, C});
  embedding_forward(out, tokens, table, positions);
  embedding_forward(bare, tokens, table, {});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(B * T * C); ++i) {
    const std::size_t c = i % C, t = i / C % T, token = static_cast<std::size_t>(tokens.span<std::int32_t>()[i / C]);
    wrong += bare.span<float>()[i] != table.span<float>()[token * C + c];
    wrong += out.span<float>()[i] != table.span<float>()[token * C + c] + positions.span<float>()[t * C + c];
  }
  CHECK(wrong == 0);
}

TEST_CASE("embedding gradients agree with finite differences, overwriting and adding", "[kernels]") {
  const Tensor tokens = random_ids({B, T}, V, 1), table = random_tensor<double>({V, C}, 2),
               positions = random_tensor<double>({P, C}, 3);
  const Tensor out = Tensor::empty({B, T, C}, DType::kFloat64), weights = random_tensor<double>({B, T, C}, 4);
  const auto loss = [&] {
    embedding_forward(out, tokens, table, positions);
    return weighted_sum(out, weights);
  };
  const Tensor table_gradient = table.clone(), position_gradient = positions.clone();
  embedding_token_gradient(table_gradient, Write::kOverwrite, weights, tokens);
  embedding_position_gradient(position_gradient, Write::kOverwrite, weights);
  Values expected_table = finite_differences(table, loss), expected_positions = finite_differences(positions, loss);
  CHECK(largest_difference(table_gradient, expected_table) < kFiniteDifferenceTolerance);
  CHECK(largest_difference(position_gradient, expected_positions) < kFiniteDifferenceTolerance);
  embedding_token_gradient(table_gradient, Write::kAdd, weights, tokens);
  embedding_position_gradient(position_gradient, Write::kAdd, weights);
  for (double& value : expected_table) value *= 2;
  for (double& value : expected_positions) value *= 2;
  CHECK(largest_difference(table_gradient, expected_table) < 2 * kFiniteDifferenceTolerance);
  CHECK(largest_difference(position_gradient, expected_positions) < 2 * kFiniteDifferenceTolerance);
}

TEST_CASE("a token outside the table is named", "[kernels]") {
  const Tensor tokens = Tensor::from<std::int32_t>(std::vector<std::int32_t>{0, 17}, {1, 2}),
               table = Tensor::zeros({V, C});
  CHECK_THROWS_WITH(embedding_forward(Tensor::empty({1, 2, C}), tokens, table, {}), ContainsSubstring("token 17 at 1"));
  CHECK_THROWS_AS(embedding_token_gradient(table, Write::kAdd, Tensor::empty({1, 2, C}), tokens), ContractError);
  CHECK_THROWS_AS(embedding_forward(Tensor::empty({1, 2, C}), random_ids({1, 2}, V, 1), table, Tensor::zeros({1, C})),
                  ContractError);
}

TEST_CASE("parts of a table embed their tokens and add zeros for the others", "[kernels]") {
  const Tensor tokens = random_ids({B, T}, V, 1), table = random_tensor<float>({V, C}, 2),
               positions = random_tensor<float>({P, C}, 3), dy = random_tensor<float>({B, T, C}, 4);
  const Tensor whole = Tensor::empty({B, T, C}), gradient = Tensor::empty({V, C});
  embedding_forward(whole, tokens, table, positions);
  embedding_token_gradient(gradient, Write::kOverwrite, dy, tokens);
  const Tensor sum = Tensor::zeros({B, T, C});
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 6}, {6, V}}) {
    const VocabularyPart part{.first = begin, .whole = V};
    const Tensor out = Tensor::empty({B, T, C}), own = Tensor::empty({end - begin, C});
    embedding_forward(out, tokens, table.rows(begin, end), begin == 0 ? positions : Tensor(), part);
    for (std::int64_t i = 0; i < B * T * C; ++i) sum.span<float>()[i] += out.span<float>()[i];
    embedding_token_gradient(own, Write::kOverwrite, dy, tokens, part);
    CHECK(equal_bits(own, gradient.rows(begin, end)));
  }
  CHECK(largest_difference(sum, values_of(whole)) <= 4 * kRoundoff<float>);
  CHECK_THROWS_WITH(embedding_forward(whole, tokens, table.rows(0, 5), {}, {.first = 0, .whole = 6}),
                    ContainsSubstring("is not in [0, 6)"));
}
