#pragma once
/// @file
/// The names and shapes of a GPT's parameters, without constructing it.
#include <cstdint>
#include <string>
#include <vector>

#include "nn/gpt.hpp"
#include "tensor/shape.hpp"

namespace lockstep::nn {

/// Name as in Module::named_parameters().
struct ParameterShape {
  std::string name;
  Shape shape;
};

/// The list of `Gpt(config, scope).named_parameters()`, in the same order, at negligible cost for any size of model.
/// @throws ContractError  As Gpt's constructor.
[[nodiscard]] std::vector<ParameterShape> gpt_parameters(const GptConfig& config);

/// Number of elements of gpt_parameters(): 124 439 808 for GPT-2's smallest.
[[nodiscard]] std::int64_t gpt_parameter_count(const GptConfig& config);

}  // namespace lockstep::nn
