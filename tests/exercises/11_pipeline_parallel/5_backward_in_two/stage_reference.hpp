#pragma once
/// @file
/// A stage with its inputs and a whole backward pass, for the judge of exercise 11.5.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "11_pipeline_parallel/5_backward_in_two/backward_in_two.hpp"
#include "base/philox.hpp"
#include "base/text.hpp"
#include "exercise/message.hpp"

namespace lockstep::exercise::checks_11_5 {

using pipeline::Task;
using Numbers = std::vector<std::int64_t>;
using Values = std::vector<float>;

/// A stage, and the order in which F, B and W of its micro-batches are done.
struct StageTrial {
  std::vector<std::size_t> layers = {0};
  std::string order = "F0 B0 W0";
  std::int64_t rows = 2, channels = 5;
};

/// The inputs of a trial, and a whole backward pass. All numbers are integers below 2^24, so floats are exact.
class StageInputs {
 public:
  StageInputs(const StageTrial& trial, const std::vector<Task>& tasks, std::uint64_t seed)
      : trial_(trial), random_(seed, 115) {
    const std::size_t weights = std::ranges::max(trial.layers) + 1;
    for (std::size_t i = 0; i < weights; ++i) {
      weights_.push_back(integers(trial.channels * trial.channels, 1));
      sums_.push_back(integers(trial.channels * trial.channels, 9));
    }
    for (const Task& task : tasks) micro_batches_ = std::max(micro_batches_, task.micro_batch + 1);
    for (int i = 0; i < micro_batches_; ++i) {
      inputs_.push_back(integers(trial.rows * trial.channels, 2));
      output_gradients_.push_back(integers(trial.rows * trial.channels, 2));
    }
  }

  [[nodiscard]] nlohmann::json question(const std::vector<Task>& tasks) const {
    const auto array = [](const Values& values) { return to_message(std::span(values)); };
    Numbers order, layers(trial_.layers.begin(), trial_.layers.end());
    for (const auto& [part, micro_batch] : tasks) order.insert(order.end(), {static_cast<int>(part), micro_batch});
    nlohmann::json question{{"what", "stage"},
                            {"rows", trial_.rows},
                            {"channels", trial_.channels},
                            {"weights", static_cast<int>(weights_.size())},
                            {"layers", to_message(std::span<const std::int64_t>(layers))},
                            {"order", to_message(std::span<const std::int64_t>(order))}};
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      question[concat("weight", i)] = array(weights_[i]);
      question[concat("sum", i)] = array(sums_[i]);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      question[concat("input", i)] = array(inputs_[i]);
      question[concat("d_output", i)] = array(output_gradients_[i]);
    }
    return question;
  }

  [[nodiscard]] int micro_batches() const { return micro_batches_; }
  [[nodiscard]] std::size_t weights() const { return weights_.size(); }

  // A whole backward pass. Adds the gradients of weights to `sums`. Returns the input's.
  [[nodiscard]] std::vector<double> backward(int micro_batch, std::vector<std::vector<double>>& sums) const {
    const auto rows = trial_.rows, channels = trial_.channels;
    const auto at = [channels](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * channels + j); };
    const Values& first = inputs_[static_cast<std::size_t>(micro_batch)];
    std::vector<std::vector<double>> stream{{first.begin(), first.end()}};
    for (const std::size_t weight : trial_.layers) {
      std::vector<double> output(static_cast<std::size_t>(rows * channels));
      for (double& element : stream.back()) element = std::max(element, 0.0);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < channels; ++j)
          for (std::int64_t k = 0; k < channels; ++k)
            output[at(i, j)] += stream.back()[at(i, k)] * static_cast<double>(weights_[weight][at(k, j)]);
      stream.push_back(std::move(output));
    }
    const Values& last = output_gradients_[static_cast<std::size_t>(micro_batch)];
    std::vector<double> gradient(last.begin(), last.end());
    for (std::size_t layer = trial_.layers.size(); layer-- > 0;) {
      const std::size_t weight = trial_.layers[layer];
      std::vector<double> d_input(gradient.size());
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t k = 0; k < channels; ++k) {
          const double input = stream[layer][at(i, k)];
          if (input <= 0) continue;  // neither the input nor the weight's row gets a gradient
          for (std::int64_t j = 0; j < channels; ++j) {
            d_input[at(i, k)] += gradient[at(i, j)] * static_cast<double>(weights_[weight][at(k, j)]);
            sums[weight][at(k, j)] += input * gradient[at(i, j)];
          }
        }
      }
      gradient = std::move(d_input);
    }
    return gradient;
  }

  [[nodiscard]] std::vector<std::vector<double>> sums() const {
    std::vector<std::vector<double>> sums;
    for (const Values& sum : sums_) sums.emplace_back(sum.begin(), sum.end());
    return sums;
  }

 private:
  Values integers(std::int64_t count, std::int64_t most) {
    Values values(static_cast<std::size_t>(count));
    for (float& value : values)
      value = static_cast<float>(
          static_cast<std::int64_t>(random_.next_below(static_cast<std::uint64_t>(2 * most + 1))) - most);
    return values;
  }

  StageTrial trial_;
  PhiloxSequence random_;
  std::vector<Values> weights_, sums_, inputs_, output_gradients_;
  int micro_batches_ = 0;
};

}  // namespace lockstep::exercise::checks_11_5
