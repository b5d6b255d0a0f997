// Reduction and AdamW: problems whose only size is a count.
#include <algorithm>
#include <numeric>

#include "04_kernels/measure/ladder_problem.hpp"
#include "04_kernels/measure/problems.hpp"

namespace lockstep::ladders {

namespace {

/// Zeros and positive whole numbers whose sum is below 2^24, so that every order of additions is exact, and a lost or
/// repeated value shows.
std::vector<float> summands(std::size_t count) {
  constexpr std::uint32_t kSumLimit = 1U << 23;  // half of what would be exact: the mean below is only an expectation
  PhiloxSequence random(4);
  const std::uint32_t most = count < kSumLimit ? static_cast<std::uint32_t>(kSumLimit / (count + 1)) : 1;
  const std::uint32_t spread = count < kSumLimit ? 1 : static_cast<std::uint32_t>(count / kSumLimit) + 1;
  std::vector<float> values(count);
  for (float& value : values) {
    if (random.next_word() % spread == 0) value = static_cast<float>(1 + random.next_word() % std::max(most, 1U));
  }
  return values;
}

class ReductionProblem : public LadderProblem<Reduction> {
 public:
  ReductionProblem(int count, const Registry& registry)
      : LadderProblem(registry.reduction),
        count_(count),
        host_values_(summands(static_cast<std::size_t>(count))),
        values_(std::span<const float>(host_values_)) {
    finished_blocks_.set(std::vector<unsigned>{0});
  }

  void reset() override { sum_.poison(); }

  void enqueue(int rung, cudaStream_t stream) override {
    function(rung)(sum_.data(), values_.data(), count_, {partial_sums_.data(), finished_blocks_.data()}, stream);
  }

  [[nodiscard]] Verdict verdict() const override {
    const double sum = std::accumulate(host_values_.begin(), host_values_.end(), 0.0);
    return compare(sum_.to_host(), std::vector<Expected>{{sum, 0}});
  }

  [[nodiscard]] Cost cost() const override {
    const double count = count_;
    return {.bytes = 4 * count + 4, .operations = count, .elements = count};
  }

 protected:
  [[nodiscard]] bool is_met(Requirement) const override { return true; }

 private:
  int count_;
  std::vector<float> host_values_;
  DeviceArray<float> values_, sum_{1}, partial_sums_{kReductionBlocks};
  DeviceArray<unsigned> finished_blocks_{1};
};

constexpr AdamWStep kStep = {.learning_rate = 1e-2F,
                             .beta1 = 0.9F,
                             .beta2 = 0.999F,
                             .epsilon = 1e-8F,
                             .weight_decay = 0.1F,
                             .first_correction = 0.271F,
                             .second_correction = 0.002997F};

class AdamWProblem : public LadderProblem<AdamW> {
 public:
  AdamWProblem(int count, const Registry& registry)
      : LadderProblem(registry.adamw),
        count_(static_cast<std::size_t>(count)),
        gradients_(std::span<const float>(g_)) {}

  void reset() override {
    parameters_.set(p_);
    first_.set(m_);
    second_.set(v_);
  }

  void enqueue(int rung, cudaStream_t stream) override {
    const AdamWState state = {parameters_.data(), first_.data(), second_.data()};
    function(rung)(state, gradients_.data(), static_cast<int>(count_), kStep, stream);
  }

  [[nodiscard]] Verdict verdict() const override {
    std::vector<Expected> parameters, first, second;
    for (std::size_t i = 0; i < count_; ++i) {
      // The larger terms bound the roundings: 4 for a moment; 8 more for a step, on a quotient of two rounded moments.
      const double g = g_[i], rate = kStep.learning_rate;
      const double m = kStep.beta1 * double{m_[i]} + (1 - double{kStep.beta1}) * g;
      const double v = kStep.beta2 * double{v_[i]} + (1 - double{kStep.beta2}) * g * g;
      const double m_error = 4 * kUnit * (std::abs(m_[i]) + std::abs(g)), v_error = 4 * kUnit * v;
      const double root = std::sqrt(v / kStep.second_correction) + kStep.epsilon;
      const double step = rate * m / kStep.first_correction / root;
      const double step_error = rate * m_error / kStep.first_correction / root + 16 * kUnit * std::abs(step);
      const double kept = p_[i] * (1 - rate * kStep.weight_decay);
      first.push_back({m, m_error});
      second.push_back({v, v_error});
      parameters.push_back({kept - step, step_error + 4 * kUnit * (std::abs(kept) + std::abs(step))});
    }
    const Verdict verdicts[] = {compare(parameters_.to_host(), parameters), compare(first_.to_host(), first),
                                compare(second_.to_host(), second)};
    return *std::ranges::max_element(verdicts, {}, &Verdict::worst);
  }

  [[nodiscard]] Cost cost() const override {
    const auto count = static_cast<double>(count_);
    return {.bytes = 28 * count, .operations = 15 * count, .elements = count};
  }

 protected:
  [[nodiscard]] bool is_met(Requirement) const override { return true; }

 private:
  std::size_t count_;
  std::vector<float> p_ = real_numbers(count_, 1, 1), g_ = real_numbers(count_, 0.1F, 2),
                     m_ = real_numbers(count_, 0.1F, 3), v_ = squares(real_numbers(count_, 0.1F, 4));
  DeviceArray<float> parameters_{count_}, first_{count_}, second_{count_}, gradients_;

  static std::vector<float> squares(std::vector<float> values) {
    for (float& value : values) value *= value;
    return values;
  }
};

}  // namespace

std::unique_ptr<Problem> make_reduction(std::span<const int> sizes, const Registry& registry) {
  return std::make_unique<ReductionProblem>(sizes[0], registry);
}

std::unique_ptr<Problem> make_adamw(std::span<const int> sizes, const Registry& registry) {
  return std::make_unique<AdamWProblem>(sizes[0], registry);
}

}  // namespace lockstep::ladders
