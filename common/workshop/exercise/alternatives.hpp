#pragma once
/// @file
/// What an exercise's alternatives.cpp is written with: right answers that nobody would expect from reading the
/// solution. The judge must pass all of them, or it refuses students who are right.
#include <span>
#include <string_view>

namespace lockstep::exercise {

/// One unusual right answer.
struct Alternative {
  const char* name;  ///< As file names are written: recursive_halving.
  const char* what;  ///< How it differs from the solution, for whoever finds it refused.
};

/// All of an exercise's. Defined by alternatives.cpp; empty in all other programs.
[[nodiscard]] std::span<const Alternative> alternatives() noexcept;

/// In alternatives.cpp: whether the judge asks for this one.
[[nodiscard]] bool is_alternative(std::string_view name);

}  // namespace lockstep::exercise
