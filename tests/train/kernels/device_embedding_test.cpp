#include "kernels/device_testing.hpp"
#include "kernels/embedding.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

struct EmbeddingSizes {
  std::int64_t B, T, C, V;
};
// The last has a token that fills more than one round of the search for its rows.
const std::vector<EmbeddingSizes> kEmbeddingSizes{
    {1, 1, 1, 1}, {2, 5, 31, 7}, {3, 31, 33, 65}, {2, 33, 64, 5}, {2, 300, 8, 2}};

}  // namespace

TEST_CASE("device embeddings agree with float64", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const auto& [B, T, C, V] : kEmbeddingSizes) {
      TestDevice device;
      const Tensor tokens = random_ids({B, T}, V, 1), table = random_tensor<float>({V, C}, 2);
      const Tensor positions = random_tensor<float>({T + 1, C}, 3),
                   expected = Tensor::empty({B, T, C}, DType::kFloat64);
      const Array out = device.make(random_stored(dtype, {B * T, C}, 4)), ids = device.put(tokens);
      for (const Tensor& used : {positions, Tensor()}) {
        device.ops().embedding_forward(out, ids, device.put(table), device.put(used), {0, V}, device.context());
        embedding_forward(expected, tokens, doubled(table), used.is_defined() ? doubled(used) : Tensor());
        CHECK(worst_error(device.get(out), expected) <= 2 * roundoff_of(dtype));
      }
    }
  }
}

TEST_CASE("device gradients of embeddings agree with float64", "[kernels][gpu]") {
  for (const DType dtype : kStoredTypes) {
    for (const auto& [B, T, C, V] : kEmbeddingSizes) {
      for (const Write write : {Write::kOverwrite, Write::kAdd}) {
        TestDevice device;
        const Tensor tokens = random_ids({B, T}, V, 1), dy = random_stored(dtype, {B, T, C}, 2);
        const Tensor table = random_tensor<float>({V + 1, C}, 3), positions = random_tensor<float>({T + 1, C}, 4);
        const Tensor to_table = doubled(table), to_positions = doubled(positions);
        const Array table_gradient = device.put(table), position_gradient = device.put(positions);
        const Array gradient = device.put(dy);
        device.ops().embedding_token_gradient(table_gradient, write, gradient, device.put(tokens), {0, V + 1},
                                              device.context());
        embedding_token_gradient(to_table, write, doubled(dy), tokens);
        // Up to B T terms of order 1 in a row: as many roundoffs of a partial sum of order sqrt(B T).
        const double bound = 4 * static_cast<double>(B * T) * 0x1p-24;
        CHECK(worst_error(device.get(table_gradient), to_table) <= bound);
        device.ops().embedding_position_gradient(position_gradient, write, gradient, B, device.context());
        embedding_position_gradient(to_positions, write, doubled(dy));
        CHECK(worst_error(device.get(position_gradient), to_positions) <= bound);
      }
    }
  }
}

TEST_CASE("a device notes the first token out of range and goes on without it", "[kernels][gpu]") {
  TestDevice device;
  const Tensor tokens = Tensor::from<std::int32_t>(std::vector<std::int32_t>{1, 0, 9, -1, 1}, {1, 5});
  const Tensor table = random_tensor<float>({2, 3}, 1), dy = random_tensor<float>({1, 5, 3}, 2);
  const Array out = device.make(dy), gradient = device.make(table);
  device.ops().embedding_forward(out, device.put(tokens), device.put(table), {}, {0, 2}, device.context());
  CHECK(device.faults().token == ((2ULL << 32) | 9U));
  CHECK(device.faults().target == DeviceFaults::kNone);
  const Values result = values_of(device.get(out));
  CHECK(std::all_of(result.begin() + 6, result.begin() + 12, [](double value) { return value == 0.0; }));
  device.ops().embedding_token_gradient(gradient, Write::kOverwrite, device.put(dy), device.put(tokens), {0, 2},
                                        device.context());
  const Values sums = values_of(device.get(gradient)), terms = values_of(dy);
  for (std::size_t c = 0; c < 3; ++c) CHECK(std::abs(sums[3 + c] - (terms[c] + terms[12 + c])) <= 4 * 0x1p-24);
}

TEST_CASE("device embeddings of a part of the table agree with the CPU", "[kernels][gpu]") {
  constexpr std::int64_t B = 2, T = 33, C = 40, V = 19;
  const VocabularyPart part{.first = 5, .whole = V};
  for (const DType dtype : kStoredTypes) {
    TestDevice device;
    const Tensor tokens = random_ids({B, T}, V, 1), table = random_tensor<float>({7, C}, 2);
    const Tensor positions = random_tensor<float>({T, C}, 3), dy = random_stored(dtype, {B, T, C}, 4);
    const Tensor expected = Tensor::empty({B, T, C}, DType::kFloat64), gradient = doubled(table);
    const Array out = device.make(dy), ids = device.put(tokens), own = device.put(table);
    device.ops().embedding_forward(out, ids, own, device.put(positions), part, device.context());
    embedding_forward(expected, tokens, doubled(table), doubled(positions), part);
    CHECK(worst_error(device.get(out), expected) <= 2 * roundoff_of(dtype));
    device.ops().embedding_token_gradient(own, Write::kAdd, device.put(dy), ids, part, device.context());
    embedding_token_gradient(gradient, Write::kAdd, doubled(dy), tokens, part);
    CHECK(worst_error(device.get(own), gradient) <= 4 * static_cast<double>(B * T) * 0x1p-24);
    CHECK(device.faults().token == DeviceFaults::kNone);
  }
}
