// Causal attention of several heads.
#include <algorithm>

#include "04_kernels/measure/ladder_problem.hpp"
#include "04_kernels/measure/problems.hpp"

namespace lockstep::ladders {

namespace {

class AttentionProblem : public LadderProblem<Attention> {
 public:
  AttentionProblem(int heads, int positions, const Registry& registry)
      : LadderProblem(registry.flash_attention), heads_(heads), positions_(positions) {}

  void reset() override { out_.poison(); }

  void enqueue(int rung, cudaStream_t stream) override {
    function(rung)(out_.data(), {q_.data(), k_.data(), v_.data(), heads_, positions_}, scores_.data(), stream);
  }

  [[nodiscard]] Verdict verdict() const override {
    if (expected_.empty()) {
      for (int head = 0; head < heads_; ++head) {
        for (int query = 0; query < positions_; ++query) add_expected(head, query);
      }
    }
    return compare(out_.to_host(), expected_);
  }

  [[nodiscard]] Cost cost() const override {
    const double pairs = 0.5 * heads_ * positions_ * (positions_ + 1.0), values = static_cast<double>(count_);
    return {.bytes = 4 * 4 * values, .operations = 4 * pairs * kHeadWidth, .elements = values};
  }

 protected:
  [[nodiscard]] bool is_met(Requirement) const override { return true; }

 private:
  [[nodiscard]] std::span<const float> row(const std::vector<float>& values, int head, int position) const {
    const auto index =
        static_cast<std::size_t>(head) * static_cast<std::size_t>(positions_) + static_cast<std::size_t>(position);
    return std::span(values).subspan(index * kHeadWidth, kHeadWidth);
  }

  [[nodiscard]] double score(int head, int query, int key) const {
    const auto q = row(host_q_, head, query), k = row(host_k_, head, key);
    double sum = 0;
    for (std::size_t d = 0; d < kHeadWidth; ++d) sum += double{q[d]} * double{k[d]};
    return sum * double{kScoreScale};
  }

  /// A score sums 64 products of at most 1, with an error of at most 65 * 64 / 8 units, and so does the maximum that it
  /// is compared with; that is the relative error of a weight. Sums over the keys lose 3 units per key.
  void add_expected(int head, int query) const {
    std::vector<double> weights;
    for (int key = 0; key <= query; ++key) weights.push_back(score(head, query, key));
    const double largest = std::ranges::max(weights);
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    const double allowed = (2 * 65 * 64 / 8 + 3 * positions_ + 64) * kUnit;
    for (std::size_t d = 0; d < kHeadWidth; ++d) {
      double value = 0;
      for (int key = 0; key <= query; ++key) {
        value += weights[static_cast<std::size_t>(key)] / sum * double{row(host_v_, head, key)[d]};
      }
      expected_.push_back({value, allowed});
    }
  }

  int heads_, positions_;
  std::size_t count_ = static_cast<std::size_t>(heads_) * static_cast<std::size_t>(positions_) * kHeadWidth;
  std::vector<float> host_q_ = real_numbers(count_, 1, 1), host_k_ = real_numbers(count_, 1, 2),
                     host_v_ = real_numbers(count_, 1, 3);
  DeviceArray<float> q_{std::span<const float>(host_q_)}, k_{std::span<const float>(host_k_)},
      v_{std::span<const float>(host_v_)}, out_{count_},
      scores_{count_ / kHeadWidth * static_cast<std::size_t>(positions_)};
  mutable std::vector<Expected> expected_;
};

}  // namespace

std::unique_ptr<Problem> make_flash_attention(std::span<const int> sizes, const Registry& registry) {
  return std::make_unique<AttentionProblem>(sizes[0], sizes[1], registry);
}

}  // namespace lockstep::ladders
