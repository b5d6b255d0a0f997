// The lesson's calculations by hand, each next to the course's own operation: the attention of four tokens, and the
// gradients of one prediction with a tape for single numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/variable.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "tensor/tensor.hpp"

namespace {

using namespace lockstep;

constexpr std::size_t kTokens = 4, kChannels = 2;
constexpr std::array<const char*, kTokens> kWords{"the", "cat", "sat", "down"};
using Vectors = std::array<std::array<double, kChannels>, kTokens>;
constexpr Vectors kQueries{{{1, 0}, {1, 0}, {0, 2}, {1, 2}}};
constexpr Vectors kKeys{{{1, 0}, {0, 2}, {1, 1}, {0, 1}}};
constexpr Vectors kValues{{{1, 0}, {0, 1}, {2, 0}, {0, 2}}};

// The weights of a token's query on the keys of all tokens up to it.
std::vector<double> attention_weights(std::size_t query) {
  std::vector<double> weights;
  double sum = 0;
  for (std::size_t key = 0; key <= query; ++key) {  // the causal mask: later tokens do not exist yet
    double score = 0;
    for (std::size_t c = 0; c < kChannels; ++c) score += kQueries[query][c] * kKeys[key][c];
    weights.push_back(std::exp(score / std::sqrt(kChannels)));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// autograd::attention on the same vectors, with one head.
Tensor attention_of_the_course() {
  std::vector<float> packed;  // for each token: query, key, value
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (const Vectors* each : {&kQueries, &kKeys, &kValues})
      packed.insert(packed.end(), (*each)[t].begin(), (*each)[t].end());
  }
  const Tensor qkv = Tensor::from<float>(packed, {1, kTokens, 3 * kChannels});
  return autograd::attention(autograd::Variable(qkv), 1, {}).value();
}

void show_attention() {
  std::printf("attention, weights of            the    cat    sat   down      sum of the values\n");
  const Tensor expected = attention_of_the_course();
  double largest_difference = 0;
  for (std::size_t query = 0; query < kTokens; ++query) {
    const std::vector<double> weights = attention_weights(query);
    std::array<double, kChannels> sum{};
    std::printf("  seen from %-18s", kWords[query]);
    for (std::size_t key = 0; key < kTokens; ++key) {
      if (key > query) {
        std::printf("      -");
        continue;
      }
      std::printf("  %5.3f", weights[key]);
      for (std::size_t c = 0; c < kChannels; ++c) sum[c] += weights[key] * kValues[key][c];
    }
    std::printf("      (%.3f, %.3f)\n", sum[0], sum[1]);
    for (std::size_t c = 0; c < kChannels; ++c) {
      const double own = expected.span<float>()[query * kChannels + c];
      largest_difference = std::max(largest_difference, std::abs(own - sum[c]));
    }
  }
  require(largest_difference < 1e-6, "autograd::attention differs by ", largest_difference);
  std::printf("autograd::attention computes the same sums.\n\n");
}

// One number of a computation: its value, later its gradient, and its inputs.
struct Number {
  double value = 0;
  double gradient = 0;
  std::vector<std::pair<std::size_t, double>> inputs = {};  // their places on the tape, and the slope for each
};

// Numbers in the order in which they were computed.
class ScalarTape {
 public:
  std::size_t number(double value) { return record(value, {}); }
  std::size_t add(std::size_t a, std::size_t b) { return record(value(a) + value(b), {{a, 1}, {b, 1}}); }
  std::size_t multiply(std::size_t a, std::size_t b) {
    return record(value(a) * value(b), {{a, value(b)}, {b, value(a)}});
  }
  std::size_t exp(std::size_t a) { return record(std::exp(value(a)), {{a, std::exp(value(a))}}); }
  std::size_t log(std::size_t a) { return record(std::log(value(a)), {{a, 1 / value(a)}}); }

  // From the result to the beginning: when a number's turn comes, everything computed from it has had its turn.
  void backward(std::size_t result) {
    numbers_[result].gradient = 1;
    for (std::size_t place = result + 1; place-- > 0;) {
      for (const auto& [input, slope] : numbers_[place].inputs)
        numbers_[input].gradient += slope * numbers_[place].gradient;  // += because a number may be used twice
    }
  }
  [[nodiscard]] double value(std::size_t place) const { return numbers_[place].value; }
  [[nodiscard]] double gradient(std::size_t place) const { return numbers_[place].gradient; }

 private:
  std::size_t record(double value, std::vector<std::pair<std::size_t, double>> inputs) {
    numbers_.push_back({.value = value, .inputs = std::move(inputs)});
    return numbers_.size() - 1;
  }

  std::vector<Number> numbers_;
};

constexpr std::array<double, 3> kWeights{0.5, -1.0, 2.0};
constexpr double kInput = 1.5;

// The loss of a model with one channel and three tokens, the first of which comes next: logits w x, then softmax and
// cross-entropy.
void show_tape() {
  ScalarTape tape;
  const std::size_t x = tape.number(kInput);
  std::array<std::size_t, kWeights.size()> w{}, logits{};
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = tape.number(kWeights[i]);
  for (std::size_t i = 0; i < w.size(); ++i) logits[i] = tape.multiply(w[i], x);
  std::size_t sum = tape.exp(logits[0]);
  for (std::size_t i = 1; i < w.size(); ++i) sum = tape.add(sum, tape.exp(logits[i]));
  const std::size_t loss = tape.add(tape.log(sum), tape.multiply(logits[0], tape.number(-1)));
  tape.backward(loss);

  const std::vector<float> weights(kWeights.begin(), kWeights.end()), inputs{static_cast<float>(kInput)};
  const auto weight = autograd::Variable::parameter(Tensor::from<float>(weights, {3, 1}), "w");
  const auto input = autograd::Variable::parameter(Tensor::from<float>(inputs, {1, 1}), "x");
  const std::vector<std::int32_t> target{0};
  autograd::Variable of_course =
      autograd::cross_entropy(autograd::linear(input, weight, {}), Tensor::from<std::int32_t>(target, {1}));
  of_course.backward();

  std::printf("                value   gradient: by hand   autograd\n");
  const auto line = [](const char* name, double value, double own, double expected) {
    require(std::abs(own - expected) < 1e-6, name, ": the gradients differ by ", std::abs(own - expected));
    std::printf("  %-8s %10.4f %19.4f %10.4f\n", name, value, own, expected);
  };
  line("x", kInput, tape.gradient(x), input.gradient().item());
  constexpr std::array<const char*, kWeights.size()> kNames{"w[0]", "w[1]", "w[2]"};
  for (std::size_t i = 0; i < w.size(); ++i)
    line(kNames[i], kWeights[i], tape.gradient(w[i]), weight.gradient().span<float>()[i]);
  std::printf("  %-8s %10.4f\n", "loss", tape.value(loss));
}

}  // namespace

int main() {
  return run_guarded("by_hand", [] {
    show_attention();
    show_tape();
    return 0;
  });
}
