#pragma once
/// @file
/// The names and shapes of a GPT's parameters, whole or of one rank, without constructing it.
#include <cstdint>
#include <string>
#include <vector>

#include "nn/gpt.hpp"
#include "tensor/shape.hpp"
#include "tensor/slice.hpp"

namespace lockstep::nn {

/// Name as in Module::named_parameters().
struct ParameterShape {
  std::string name;
  Shape shape;
};

/// The list of `Gpt(config, scope).named_parameters()`, in the same order, at negligible cost for any size of model.
/// @throws ContractError  As Gpt's constructor.
[[nodiscard]] std::vector<ParameterShape> gpt_parameters(const GptConfig& config);

/// One of the ranks that divide a model: T of them every matrix, and P of them the blocks.
struct ModelShare {
  int tensor_rank = 0;    ///< In [0, tensor).
  int tensor = 1;         ///< T. They divide heads, the MLP's hidden channels, and the table's rows.
  int pipeline_rank = 0;  ///< In [0, pipeline).
  int pipeline = 1;       ///< P. Rank r has the blocks [L r / P, L (r + 1) / P), unless:
  /// Blocks of the last of several pipeline ranks, which has the head to compute besides; the others divide the rest in
  /// the same way. 0: as many as others have.
  std::int64_t last_stage_blocks = 0;

  [[nodiscard]] bool is_first() const noexcept { return pipeline_rank == 0; }
  [[nodiscard]] bool is_last() const noexcept { return pipeline_rank == pipeline - 1; }
};

/// The blocks of pipeline rank share.pipeline_rank.
[[nodiscard]] Range blocks_of(const GptConfig& config, const ModelShare& share);

/// The parameters that this rank has and updates, in the same order. Tensor rank 0 alone has the positions and the
/// biases that are added once. If the last pipeline rank is not the first, it reads a copy of the table besides, which
/// is not in the list.
/// @throws ContractError  As above; or the heads do not divide among the ranks, or a rank would have no block.
[[nodiscard]] std::vector<ParameterShape> gpt_parameters(const GptConfig& config, const ModelShare& share);

/// Number of elements of gpt_parameters(): 124 439 808 for GPT-2's smallest.
[[nodiscard]] std::int64_t gpt_parameter_count(const GptConfig& config);

}  // namespace lockstep::nn
