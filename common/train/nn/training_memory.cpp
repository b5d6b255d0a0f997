#include "nn/training_memory.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "kernels/loss.hpp"
#include "nn/gpt_parameters.hpp"
#include "nn/parameter_units.hpp"

namespace lockstep::nn {
namespace {

constexpr double kFloatBytes = 4, kHalfBytes = 2, kMomentBytes = 8;
constexpr std::size_t kMostWholeValues = 3;  // units
constexpr std::int64_t kMostSlotsOfOneSize = 2;

void require_valid(const TrainingPlan& plan) {
  nn::require_valid(plan.config);
  require(plan.ranks >= 1, "training_memory: a job has at least 1 rank, not ", plan.ranks);
  require(plan.stage >= 0 && plan.stage <= 3, "training_memory: ZeRO has stages 1 to 3, and 0 for none, not ",
          plan.stage);
  require(plan.batch_size >= 1, "training_memory: a batch has at least 1 sample, not ", plan.batch_size);
  require(plan.context >= 0 && plan.context <= plan.config.context_length, "training_memory: a context of ",
          plan.context, " positions; the model sees 1 to ", plan.config.context_length);
}

// Elements of the matrices that are rounded to 2 bytes for products: all weights but the norms' and the positions'.
double matrix_elements(const GptConfig& config) {
  double count = 0;
  for (const ParameterShape& parameter : gpt_parameters(config)) {
    if (parameter.shape.rank() == 2 && parameter.name != "wpe.weight")
      count += static_cast<double>(parameter.shape.count());
  }
  return count;
}

double elements_of(std::span<const ParameterUnit> units) {
  double count = 0;
  for (const ParameterUnit& unit : units) count += static_cast<double>(unit.layout.count());
  return count;
}

// Of the largest units that come and go.
double most_whole_elements(std::span<const ParameterUnit> units) {
  std::vector<std::int64_t> counts;
  for (const ParameterUnit& unit : units)
    if (unit.name != kVectors) counts.push_back(unit.layout.count());
  std::ranges::sort(counts, std::greater());
  counts.resize(std::min(counts.size(), kMostWholeValues));
  double count = 0;
  for (const std::int64_t one : counts) count += static_cast<double>(one);
  return count;
}

double slot_elements(std::span<const ParameterUnit> units) {
  std::map<std::int64_t, std::int64_t> units_of_size;
  for (const ParameterUnit& unit : units) ++units_of_size[unit.layout.count()];
  double count = 0;
  for (const auto& [size, number] : units_of_size)
    count += static_cast<double>(size * std::min(number, kMostSlotsOfOneSize));
  return count;
}

// All that depends on the number of parameters.
TrainingMemory parameter_memory(const TrainingPlan& plan) {
  const double ranks = plan.ranks;
  const double matrices = plan.is_half ? matrix_elements(plan.config) : 0;
  if (plan.stage == 0) {
    const auto count = static_cast<double>(gpt_parameter_count(plan.config));
    return {.values = count * kFloatBytes,
            .half_values = matrices * kHalfBytes,
            .gradients = count * kFloatBytes,
            .moments = count * kMomentBytes};
  }
  const std::vector<ParameterUnit> units = units_of(gpt_parameters(plan.config), plan.ranks);
  const double count = elements_of(units);
  const auto vectors = static_cast<double>(std::ranges::find(units, kVectors, &ParameterUnit::name)->layout.count());
  TrainingMemory memory{.values = count * kFloatBytes,
                        .half_values = matrices * kHalfBytes,
                        .gradients = count * kFloatBytes,
                        .moments = count / ranks * kMomentBytes};
  if (plan.stage >= 2) {
    memory.gradients /= ranks;
    memory.whole_gradients = slot_elements(units) * kFloatBytes;
  }
  if (plan.stage == 3) {
    memory.values /= ranks;
    memory.half_values = 0;
    memory.whole_values = most_whole_elements(units) * (kFloatBytes + (plan.is_half ? kHalfBytes : 0)) +
                          vectors * (1 - 1 / ranks) * kFloatBytes;
  }
  return memory;
}

// For the rows that the head computes at a time.
double logits_bytes(const GptConfig& config, std::int64_t rows, bool is_half) {
  const DType dtype = is_half ? DType::kBFloat16 : DType::kFloat32;
  const std::int64_t held = kernels::rows_of_logits(rows, config.channels, config.vocabulary_size, dtype);
  return static_cast<double>(held * config.vocabulary_size) * static_cast<double>(bytes_of(dtype));
}

void add_activations(TrainingMemory& memory, const TrainingPlan& plan) {
  const GptConfig& config = plan.config;
  const std::int64_t positions = plan.batch_size * (plan.context == 0 ? config.context_length : plan.context);
  const double e = plan.is_half ? kHalfBytes : kFloatBytes;
  const auto rows = static_cast<double>(positions);
  const auto channels = static_cast<double>(config.channels), layers = static_cast<double>(config.layer_count);
  // Per row. Each norm's statistics are two numbers, attention's are one per head.
  const double block = 12 * channels * e + kFloatBytes * static_cast<double>(4 + config.head_count);
  const double input = 2 * channels * e;  // of a block: the stream, and its norm or the pending addition
  const bool is_recomputed = config.activation_checkpointing;
  const double kept = layers * (is_recomputed ? input : block);
  const double last = input + kFloatBytes * 2;
  const double logits = logits_bytes(config, positions, plan.is_half);
  const double after_forward = rows * (kept + last + channels * e);  // with the last norm's gradient
  // In the MLP of the last block: the gradient of its 4 C, and the stream's. The activated 4 C replace the kept ones.
  const double in_backward = rows * (kept + (is_recomputed ? block : 0) + 5 * channels * e);
  const bool is_peak_in_backward = in_backward > after_forward + logits;
  memory.activations = is_peak_in_backward ? in_backward : after_forward;
  memory.logits = is_peak_in_backward ? 0 : logits;
}

}  // namespace

TrainingMemory training_memory(const TrainingPlan& plan) {
  require_valid(plan);
  TrainingMemory memory = parameter_memory(plan);
  add_activations(memory, plan);
  return memory;
}

}  // namespace lockstep::nn
