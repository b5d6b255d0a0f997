#include "nn/training_memory.hpp"

#include <algorithm>
#include <array>
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

// A plan on one of its ranks.
struct RankPlan : TrainingPlan {
  ModelShare share;
  std::vector<ParameterShape> parameters;  // as gpt_parameters()

  // Rows of the table, whether its own or borrowed.
  [[nodiscard]] std::int64_t table_rows() const {
    return config.vocabulary_size * (share.tensor_rank + 1) / tensor -
           config.vocabulary_size * share.tensor_rank / tensor;
  }
};

void require_valid(const TrainingPlan& plan) {
  nn::require_valid(plan.config);
  require(plan.ranks >= 1, "training_memory: a job has at least 1 rank, not ", plan.ranks);
  require(plan.stage >= 0 && plan.stage <= 3, "training_memory: ZeRO has stages 1 to 3, and 0 for none, not ",
          plan.stage);
  require(plan.stage <= 1 || (plan.tensor == 1 && plan.pipeline == 1), "training_memory: stage ", plan.stage,
          " of ZeRO does not work if tensor or pipeline ranks divide the model; use stage 1");
  require(plan.batch_size >= 1, "training_memory: a batch has at least 1 sample, not ", plan.batch_size);
  require(plan.micro_batches >= 1, "training_memory: a step has at least 1 micro-batch, not ", plan.micro_batches);
  require(plan.context >= 0 && plan.context <= plan.config.context_length, "training_memory: a context of ",
          plan.context, " positions; the model sees 1 to ", plan.config.context_length);
}

RankPlan on_rank(const TrainingPlan& plan, int pipeline_rank, int tensor_rank) {
  const ModelShare share{tensor_rank, plan.tensor, pipeline_rank, plan.pipeline, plan.last_stage_blocks};
  return {plan, share, gpt_parameters(plan.config, share)};
}

double count_of(std::span<const ParameterShape> parameters) {
  double count = 0;
  for (const ParameterShape& parameter : parameters) count += static_cast<double>(parameter.shape.count());
  return count;
}

// Elements of the matrices that are rounded to 2 bytes for products: all weights but the norms' and the positions'.
double matrix_elements(std::span<const ParameterShape> parameters) {
  double count = 0;
  for (const ParameterShape& parameter : parameters) {
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

// Elements of the largest units among those that are gathered and released; the vectors stay.
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

// Everything that depends on the number of parameters.
TrainingMemory parameter_memory(const RankPlan& plan) {
  const double ranks = plan.ranks;
  const double matrices = plan.is_half ? matrix_elements(plan.parameters) : 0;
  if (plan.stage == 0) {
    const double count = count_of(plan.parameters);
    return {.values = count * kFloatBytes,
            .half_values = matrices * kHalfBytes,
            .gradients = count * kFloatBytes,
            .moments = count * kMomentBytes};
  }
  const std::vector<ParameterUnit> units = units_of(plan.parameters, plan.ranks);
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

// The last rank's copy of the table and its gradient; on the first rank, the message with that gradient.
void add_borrowed_table(TrainingMemory& memory, const RankPlan& plan) {
  if (plan.pipeline == 1 || !(plan.share.is_first() || plan.share.is_last())) return;
  const auto count = static_cast<double>(plan.table_rows() * plan.config.channels);
  memory.gradients += count * kFloatBytes;
  if (plan.share.is_first()) return;
  memory.values += count * kFloatBytes;
  if (plan.is_half) memory.half_values += count * kHalfBytes;
}

// Bytes of the logits that exist at a time: the head computes some rows at a time, or all if tensor ranks divide the
// table.
double logits_bytes(const RankPlan& plan, std::int64_t rows) {
  if (!plan.share.is_last()) return 0;
  const DType dtype = plan.is_half ? DType::kBFloat16 : DType::kFloat32;
  const GptConfig& config = plan.config;
  const std::int64_t held =
      plan.tensor > 1 ? rows : kernels::rows_of_logits(rows, config.channels, config.vocabulary_size, dtype);
  return static_cast<double>(held * plan.table_rows()) * static_cast<double>(bytes_of(dtype));
}

// Bytes per position. `C` is a row of the residual stream, `own` this rank's share of it: less than `C` only with
// sequence parallelism, which divides the rows.
struct RowBytes {
  double C, own;
  double block;   // what a block keeps. Each norm's statistics are two numbers, attention's are one per head.
  double input;   // of a block: the stream, and its norm or the pending addition
  double in_mlp;  // the most that the last block's backward adds in its MLP
};

RowBytes row_bytes(const RankPlan& plan) {
  const double e = plan.is_half ? kHalfBytes : kFloatBytes, t = plan.tensor;
  const double s = plan.is_sequence_parallel ? t : 1;
  const double C = static_cast<double>(plan.config.channels) * e, own = C / s;
  const double whole = s > 1 ? C : 0;  // gathered for a product
  const double block = 4 * own + 8 * C / t + kFloatBytes * (4 / s + static_cast<double>(plan.config.head_count) / t);
  // The gradient of its 4 C, and the stream's; the activated 4 C replace the kept ones. One product later the 4 C are
  // gone, and the gradient of the norm is there.
  const double in_mlp = std::max(4 * C / t + own + whole, 2 * own + whole);
  return {.C = C, .own = own, .block = block, .input = 2 * own, .in_mlp = in_mlp};
}

void add_activations(TrainingMemory& memory, const RankPlan& plan) {
  const GptConfig& config = plan.config;
  const std::int64_t positions = plan.batch_size * (plan.context == 0 ? config.context_length : plan.context);
  const auto rows = static_cast<double>(positions);
  const RowBytes row = row_bytes(plan);
  const auto layers = static_cast<double>(blocks_of(config, plan.share).count());
  const double held = std::min(plan.micro_batches, plan.pipeline - plan.share.pipeline_rank);
  const bool is_recomputed = config.activation_checkpointing;
  const double kept = held * layers * (is_recomputed ? row.input : row.block);
  const double last = plan.share.is_last() ? row.input + kFloatBytes * 2 : 0;
  const double logits = logits_bytes(plan, positions);
  // With the last norm's gradient; with sequence parallelism it is whole, and so is the gathered input of the head.
  const double after_forward = rows * (kept + last + (row.own < row.C ? 2 : 1) * row.C);
  const double in_backward = rows * (kept + (is_recomputed ? row.block : 0) + row.in_mlp);
  const bool is_peak_in_backward = in_backward > after_forward + logits;
  const double messages = (plan.share.is_first() ? 0 : 1) + (plan.share.is_last() ? 0 : 1);
  memory.activations = (is_peak_in_backward ? in_backward : after_forward) + rows * messages * row.own;
  memory.logits = is_peak_in_backward ? 0 : logits;
}

TrainingMemory memory_on_rank(const RankPlan& plan) {
  TrainingMemory memory = parameter_memory(plan);
  add_borrowed_table(memory, plan);
  add_activations(memory, plan);
  return memory;
}

// The memory of the rank that needs most.
TrainingMemory most(std::span<const TrainingMemory> ranks) {
  return *std::ranges::max_element(ranks, {}, &TrainingMemory::total);
}

}  // namespace

std::vector<TrainingMemory> training_memory_by_stage(const TrainingPlan& plan) {
  require_valid(plan);
  std::vector<TrainingMemory> stages;
  for (int rank = 0; rank < plan.pipeline; ++rank) {
    // Tensor rank 0 has the parameters that only one rank has, and the last one the most rows of the table.
    const std::array ranks{memory_on_rank(on_rank(plan, rank, 0)),
                           memory_on_rank(on_rank(plan, rank, plan.tensor - 1))};
    stages.push_back(most(ranks));
  }
  require(!stages.empty(), "training_memory: a pipeline has at least 1 rank, not ", plan.pipeline);
  return stages;
}

TrainingMemory training_memory(const TrainingPlan& plan) { return most(training_memory_by_stage(plan)); }

}  // namespace lockstep::nn
