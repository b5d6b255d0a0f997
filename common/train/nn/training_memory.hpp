#pragma once
/// @file
/// The memory that training a GPT needs on each rank, computed in advance from the model's sizes.
#include <cstdint>
#include <vector>

#include "nn/gpt.hpp"

namespace lockstep::nn {

/// The training of a GPT with AdamW, as far as its memory depends on it.
struct TrainingPlan {
  GptConfig config;                    ///< With activation_checkpointing as intended.
  std::int64_t batch_size = 1;         ///< Samples that pass through the model at once on a rank: its micro-batch, B.
  std::int64_t context = 0;            ///< Positions per sample, T; 0: config.context_length.
  bool is_half = false;                ///< Activations and products in 2 bytes (bf16 or fp16) instead of 4.
  int ranks = 1;                       ///< That share the samples, N.
  int stage = 0;                       ///< Of ZeRO. 0: nothing is divided; 1: moments; 2: gradients too; 3: values too.
  int tensor = 1;                      ///< That divide each matrix, t (chapter 10).
  bool is_sequence_parallel = false;   ///< They divide the residual stream too, by rows.
  int pipeline = 1;                    ///< That divide the blocks, p (chapter 11).
  std::int64_t last_stage_blocks = 0;  ///< As ModelShare::last_stage_blocks.
  int micro_batches = 1;               ///< Of a step, m, that pass through the pipeline in the order 1F1B.
};

/// Bytes on each rank at the peak of a step, by kind.
struct TrainingMemory {
  double values = 0;           ///< Parameters in float32; from stage 3 on this rank's part.
  double half_values = 0;      ///< Weight matrices once more in 2 bytes, for mixed precision.
  double whole_values = 0;     ///< Stage 3: of units that a rank has gathered, and other ranks' parts of the vectors.
  double gradients = 0;        ///< In float32; from stage 2 on of this rank's part.
  double whole_gradients = 0;  ///< From stage 2 on: of units that are being computed and reduced.
  double moments = 0;          ///< AdamW's mean and variance, in float32.
  double activations = 0;      ///< Kept by forward for backward, and those of the running operation.
  double logits = 0;           ///< Held at the peak.

  [[nodiscard]] double total() const noexcept {
    return values + half_values + whole_values + gradients + whole_gradients + moments + activations + logits;
  }
};

/// Memory on each rank; if ranks differ, on the one with the most.
///
/// Parameters, in bytes per parameter that a rank has (gpt_parameters(), with a ModelShare):
///
/// | stage | values          | gradients     | moments |
/// |-------|-----------------|---------------|---------|
/// | 0     | 4               | 4             | 8       |
/// | 1     | 4               | 4             | 8/N     |
/// | 2     | 4               | 4/N and units | 8/N     |
/// | 3     | 4/N and units   | 4/N and units | 8/N     |
///
/// The units of gradients are slots in which a unit lies until it is reduced: two for all units of one size, one for a
/// unit that is alone of its size. The units of values are the three largest: two that are in use, and one on its way.
/// Vectors are always whole. With mixed precision each value of a matrix that is there costs 2 bytes more.
///
/// Activations, by counting the values that Gpt's operations keep, e bytes each: per position and block 12 C e (two
/// sums of the residual stream, two norms, queries, keys, values, heads, the MLP's 4 C) and 4 (4 + H) (statistics of
/// norms and attention); then the last sum and norm. The peak adds either the logits (R V e up to 128 MiB, else a
/// slice) or the needs of one block's backward (9 C e). With activation checkpointing, blocks keep only their inputs,
/// 2 C e, and one block at a time keeps everything.
///
/// Of t tensor-parallel ranks each has 1/t of the matrices, of 8 C e (queries, keys, values, heads, the MLP's 4 C), of
/// the logits, which then all exist at once, and of 4 H; sums and norms are whole, or 1/t with is_sequence_parallel.
/// Then products gather their whole input for a moment.
///
/// Rank r of a pipeline has its blocks' parameters and keeps their activations for min(m, p - r) micro-batches. The
/// last one has a copy of the table, too, with a gradient and without moments, and the first one has room for that
/// gradient. A rank has room for one message, C e per position, from or to each neighbour.
///
/// Not counted: the program and its libraries, scratch of products (if the processor has no instructions for bfloat16,
/// 5 C floats per position while one runs), buffers of collectives, data, text that is generated, a checkpoint that is
/// being written, and gaps between blocks of memory.
/// @throws ContractError  As require_valid(); a batch, context or number of ranks below 1; a context above the model's;
///                        no such stage, or one above 1 with tensor or pipeline; as gpt_parameters().
/// @source  Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020, section
///          5, with gradients in 4 bytes instead of 2.
[[nodiscard]] TrainingMemory training_memory(const TrainingPlan& plan);

/// The same by rank of the pipeline, plan.pipeline of them.
[[nodiscard]] std::vector<TrainingMemory> training_memory_by_stage(const TrainingPlan& plan);

}  // namespace lockstep::nn
