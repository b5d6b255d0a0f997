#pragma once
/// @file
/// The parameters of a GPT without making it: names, shapes and how many numbers that is.
#include <cstdint>
#include <string>
#include <vector>

#include "nn/gpt.hpp"
#include "tensor/shape.hpp"

namespace lockstep::nn {

/// One parameter.
struct ParameterShape {
  std::string name;  ///< As Module::named_parameters() gives it.
  Shape shape;       ///< Of the tensor.
};

/// What `Gpt(config, scope).named_parameters()` lists, in that order, for any size of model in no time.
/// @throws ContractError  As Gpt's constructor.
[[nodiscard]] std::vector<ParameterShape> gpt_parameters(const GptConfig& config);

/// Number of elements of gpt_parameters(): 124 439 808 for GPT-2's smallest.
[[nodiscard]] std::int64_t gpt_parameter_count(const GptConfig& config);

}  // namespace lockstep::nn
