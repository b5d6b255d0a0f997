#pragma once
/// @file
/// Which parameters of a model are gathered and reduced together.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/gpt_parameters.hpp"
#include "nn/unit_layout.hpp"

namespace lockstep::nn {

/// The matrices of a block, an embedding, or all vectors.
struct ParameterUnit {
  std::string name;                     ///< "h.3", "wte", or kVectors.
  std::vector<std::size_t> parameters;  ///< Indices of its parameters, in their order.
  UnitLayout layout;                    ///< Of the same parameters.
};

/// The name of the unit of all parameters that have fewer than two dimensions.
inline constexpr const char* kVectors = "vectors";

/// The name of the unit of a parameter: kVectors if it has fewer than two dimensions; otherwise its block, up to the
/// first number in its name ("h.3" of "h.3.attn.c_attn.weight"), or its layer ("wte" of "wte.weight").
[[nodiscard]] std::string unit_of(const ParameterShape& parameter);

/// Divides parameters into units, in the order in which each unit's first parameter comes.
/// @param ranks  That divide each unit among themselves; at least 1.
[[nodiscard]] std::vector<ParameterUnit> units_of(std::span<const ParameterShape> parameters, int ranks);

}  // namespace lockstep::nn
