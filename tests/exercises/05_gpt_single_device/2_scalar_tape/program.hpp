#pragma once
/// @file
/// A computation with scalars as the judge of 05.2 sends it: numbers 0, 1, ... are the parameters, then one for each
/// operation.
#include <cstdint>

namespace lockstep::exercise {

/// The result of an operation.
enum class ScalarOperation : std::int32_t { kAdd, kMultiply, kTanh, kRelu };

/// Numbers per operation in the message: which one, and its inputs.
inline constexpr std::size_t kNumbersPerOperation = 3;

}  // namespace lockstep::exercise
