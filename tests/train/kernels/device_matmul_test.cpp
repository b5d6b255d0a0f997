#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "kernels/algorithm_choices.hpp"
#include "kernels/device_testing.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;
using Catch::Matchers::StartsWith;

namespace {

/// Element types of the operands and the result.
struct Types {
  DType in, out;
};
const std::vector<Types> kTypes{{DType::kFloat32, DType::kFloat32},
                                {DType::kBFloat16, DType::kFloat32},
                                {DType::kBFloat16, DType::kBFloat16},
                                {DType::kFloat16, DType::kFloat32},
                                {DType::kFloat16, DType::kFloat16}};

struct MatmulSizes {
  std::int64_t M, N, K;
};
const std::vector<MatmulSizes> kMatmulSizes{{1, 1, 1}, {31, 33, 65}, {5, 64, 8}, {65, 7, 31}};

Tensor stored_as(Transpose transpose, DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t key) {
  return transpose == Transpose::kYes ? random_stored(dtype, {columns, rows}, key)
                                      : random_stored(dtype, {rows, columns}, key);
}

/// Times every algorithm, and takes the last.
class LastAlgorithm final : public AlgorithmChooser {
 public:
  [[nodiscard]] std::size_t choose(const AlgorithmOffer& offer) override {
    offers.push_back(offer);
    if (offer.trial == nullptr) return 0;
    offer.trial->prepare();
    for (std::size_t i = 0; i < offer.algorithms.size(); ++i) times.push_back(offer.trial->milliseconds(i));
    return offer.algorithms.size() - 1;
  }
  [[nodiscard]] std::uint64_t id() const noexcept override { return number_.id(); }

  std::vector<AlgorithmOffer> offers;
  std::vector<double> times;

 private:
  AlgorithmChoices number_{ChoiceRule{}};
};

}  // namespace

TEST_CASE("device products of every layout and type agree with float64", "[kernels][gpu]") {
  for (const auto& [in, out_type] : kTypes) {
    for (const auto& [M, N, K] : kMatmulSizes) {
      for (const Transpose a_transpose : {Transpose::kNo, Transpose::kYes}) {
        for (const Transpose b_transpose : {Transpose::kNo, Transpose::kYes}) {
          for (const Write write : {Write::kOverwrite, Write::kAdd}) {
            TestDevice device;
            const Tensor a = stored_as(a_transpose, in, M, K, 1), b = stored_as(b_transpose, in, K, N, 2);
            const Tensor before = random_stored(out_type, {M, N}, 3), expected = doubled(before);
            const Array out = device.put(before);
            device.ops().matmul(out, device.put(a), a_transpose, device.put(b), b_transpose, {}, write,
                                device.context());
            matmul(expected, doubled(a), a_transpose, doubled(b), b_transpose, write);
            // K products of order 1 and their sum of order sqrt(K), in any order; the store rounds once. Where it adds,
            // cuBLAS may round the product first (seen on an H200 with M = 5, N = 64, K = 8): once more, at the size of
            // the product.
            const double product = write == Write::kAdd ? 4 * std::sqrt(static_cast<double>(K)) : 0;
            const double bound = 4 * static_cast<double>(K + 2) * 0x1p-24 + (1 + product) * roundoff_of(out_type);
            CAPTURE(name_of(in), name_of(out_type), M, N, K, a_transpose == Transpose::kYes,
                    b_transpose == Transpose::kYes, write == Write::kAdd);
            CHECK(worst_error(device.get(out), expected) <= bound);
          }
        }
      }
    }
  }
}

TEST_CASE("device products add a bias to every row", "[kernels][gpu]") {
  for (const auto& [in, out_type] : kTypes) {
    for (const auto& [M, N, K] : kMatmulSizes) {
      TestDevice device;
      const Tensor a = random_stored(in, {M, K}, 1), b = random_stored(in, {N, K}, 2);
      const Tensor bias = random_tensor<float>({N}, 3), expected = Tensor::empty({M, N}, DType::kFloat64);
      const Array out = device.make(random_stored(out_type, {M, N}, 4));
      device.ops().matmul(out, device.put(a), Transpose::kNo, device.put(b), Transpose::kYes, device.put(bias),
                          Write::kOverwrite, device.context());
      linear_forward(expected, doubled(a), doubled(b), Transpose::kYes, doubled(bias));
      // As above; a result of 16 bits takes a bias below 4 rounded to its type.
      const double rounding = out_type == DType::kFloat32 ? 0x1p-24 : 5 * roundoff_of(out_type);
      CHECK(worst_error(device.get(out), expected) <= 4 * static_cast<double>(K + 3) * 0x1p-24 + rounding);
    }
  }
}

TEST_CASE("a device product without inputs is its bias, or zero, or adds nothing", "[kernels][gpu]") {
  constexpr std::int64_t kM = 5, kN = 7;
  for (const auto& [in, out_type] : kTypes) {
    CAPTURE(name_of(in), name_of(out_type));
    TestDevice device;
    const Tensor before = random_stored(out_type, {kM, kN}, 1);
    const Array a = device.put(Tensor::empty({kM, 0}, in)), b = device.put(Tensor::empty({0, kN}, in));
    const auto multiply = [&](const Array& bias, Write write) {
      const Array out = device.put(before);
      device.ops().matmul(out, a, Transpose::kNo, b, Transpose::kNo, bias, write, device.context());
      return values_of(device.get(out));
    };
    const Tensor bias = random_tensor<float>({kN}, 2);
    const Values found = multiply(device.put(bias), Write::kOverwrite);
    for (std::int64_t i = 0; i < kM * kN; ++i) {
      const double expected = bias.span<float>()[i % kN];
      CHECK(std::abs(found[i] - expected) <= store_error(out_type) * std::max(1.0, std::abs(expected)));
    }
    CHECK(multiply({}, Write::kOverwrite) == Values(kM * kN, 0.0));
    CHECK(multiply({}, Write::kAdd) == values_of(before));
  }
}

TEST_CASE("a device product beyond float16's range is infinite", "[kernels][gpu]") {
  TestDevice device;
  const std::vector<float> factors{300.0F, 200.0F, -300.0F, 218.5F};  // times 300: 90000, 60000, -90000, 65550
  const Tensor a = Tensor::empty({4, 1}, DType::kFloat16), b = Tensor::empty({1, 1}, DType::kFloat16);
  cast(a, Tensor::from<float>(factors, {4, 1}));
  cast(b, Tensor::from<float>(std::vector<float>{300.0F}, {1, 1}));
  const Array out = device.make(Tensor::empty({4, 1}, DType::kFloat16));
  device.ops().matmul(out, device.put(a), Transpose::kNo, device.put(b), Transpose::kNo, {}, Write::kOverwrite,
                      device.context());
  CHECK(values_of(device.get(out)) == Values{INFINITY, 60000, -INFINITY, INFINITY});
}

TEST_CASE("a NaN in a device product reaches its row only", "[kernels][gpu]") {
  TestDevice device;
  const Tensor a = random_tensor<float>({5, 7}, 1), b = random_tensor<float>({7, 3}, 2), out = Tensor::empty({5, 3});
  a.span<float>()[2 * 7 + 3] = NAN;
  const Array result = device.make(out);
  device.ops().matmul(result, device.put(a), Transpose::kNo, device.put(b), Transpose::kNo, {}, Write::kOverwrite,
                      device.context());
  const Values values = values_of(device.get(result));
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(std::isnan(values[i]) == (i / 3 == 2));
}

TEST_CASE("the algorithms of a device product are tried once, on other memory than its own", "[kernels][gpu]") {
  constexpr std::int64_t kM = 31, kN = 33, kK = 65;
  for (const auto& [in, out_type] : kTypes) {
    for (const Write write : {Write::kOverwrite, Write::kAdd}) {
      TestDevice device;
      LastAlgorithm chooser;
      Context context = device.context();
      context.algorithms = &chooser;
      const Tensor a = random_stored(in, {kK, kM}, 1), b = random_stored(in, {kK, kN}, 2);
      const Tensor before = random_stored(out_type, {kM, kN}, 3), expected = doubled(before);
      const Array out = device.put(before), left = device.put(a), right = device.put(b);
      device.ops().matmul(out, left, Transpose::kYes, right, Transpose::kNo, {}, write, context);
      matmul(expected, doubled(a), Transpose::kYes, doubled(b), Transpose::kNo, write);
      CAPTURE(name_of(in), name_of(out_type), write == Write::kAdd);
      const double product = write == Write::kAdd ? 4 * std::sqrt(static_cast<double>(kK)) : 0;  // as above
      CHECK(worst_error(device.get(out), expected) <=
            4 * static_cast<double>(kK + 2) * 0x1p-24 + (1 + product) * roundoff_of(out_type));
      CHECK(values_of(device.get(left)) == values_of(a));
      CHECK(values_of(device.get(right)) == values_of(b));

      device.ops().matmul(out, left, Transpose::kYes, right, Transpose::kNo, {}, Write::kOverwrite, context);
      device.ops().matmul(out, left, Transpose::kYes, right, Transpose::kNo, {}, Write::kAdd, context);
      REQUIRE(chooser.offers.size() == 2);  // one that overwrites, one that adds
      const AlgorithmOffer& offer = chooser.offers.front();
      CHECK_THAT(offer.library, StartsWith("cuBLASLt ") && ContainsSubstring(" on "));
      CHECK(offer.product == concat("1 x ", in, " [65, 31]^T [65, 33]", write == Write::kAdd ? " + result" : "", " -> ",
                                    out_type, ", aligned to 256"));
      CHECK(std::set<std::string>(offer.algorithms.begin(), offer.algorithms.end()).size() == offer.algorithms.size());
      CHECK(chooser.times.size() == offer.algorithms.size() + chooser.offers.back().algorithms.size());
      CHECK(std::ranges::all_of(chooser.times, [](double time) { return std::isfinite(time); }));
    }
  }
}

TEST_CASE("a table of device products says what was chosen, and is obeyed", "[kernels][gpu]") {
  TestDevice device;
  const Array out = device.make(Tensor::empty({8, 16})), a = device.put(random_tensor<float>({8, 24}, 1)),
              b = device.put(random_tensor<float>({16, 24}, 2)), bias = device.put(random_tensor<float>({16}, 3));
  const auto multiply = [&](AlgorithmChooser& chooser) {
    Context context = device.context();
    context.algorithms = &chooser;
    device.ops().matmul(out, a, Transpose::kNo, b, Transpose::kYes, bias, Write::kOverwrite, context);
    return values_of(device.get(out));
  };
  LastAlgorithm last;
  const Values expected = multiply(last);
  const AlgorithmOffer& offer = last.offers.at(0);
  AlgorithmTable table;
  table.set(offer.library, offer.product, {offer.algorithms.back(), "the test"});
  AlgorithmChoices obedient({.times = true}, AlgorithmTable::parse(table.text(), "t.txt"));
  CHECK(multiply(obedient) == expected);
  CHECK(obedient.table().text() == table.text());
  AlgorithmChoices first({.times = false});
  (void)multiply(first);
  CHECK(first.table().find(offer.product)->algorithm == offer.algorithms.front());
}

TEST_CASE("nothing is timed while a graph is captured", "[kernels][gpu]") {
  TestDevice device;
  LastAlgorithm chooser;
  Context context = device.context();
  context.algorithms = &chooser;
  const Tensor a = random_tensor<float>({3, 5}, 1), b = random_tensor<float>({5, 7}, 2);
  const Array out = device.make(Tensor::empty({3, 7})), left = device.put(a), right = device.put(b);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  context.stream = stream;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  device.ops().matmul(out, left, Transpose::kNo, right, Transpose::kNo, {}, Write::kOverwrite, context);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(chooser.offers.size() == 1);
  CHECK(chooser.offers.front().trial == nullptr);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}
