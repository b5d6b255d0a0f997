#pragma once
/// @file
/// Used by an exercise's alternatives.cpp: right answers that differ in unexpected ways from the solution. The judge
/// must pass all of them, or it refuses students who are right.
#include <span>
#include <string_view>

namespace lockstep::exercise {

/// One unusual right answer.
struct Alternative {
  const char* name;  ///< As file names are written: recursive_halving.
  const char* what;  ///< How it differs from the solution; shown if a judge refuses it.
};

/// All alternatives of an exercise. Defined by alternatives.cpp; empty in all other programs.
[[nodiscard]] std::span<const Alternative> alternatives() noexcept;

/// For alternatives.cpp: true if the judge asks for this one.
[[nodiscard]] bool is_alternative(std::string_view name);

}  // namespace lockstep::exercise
