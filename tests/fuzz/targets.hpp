#pragma once
/// @file
/// What is fuzzed: every parser that reads bytes of strangers, of damaged files or of an environment set by hand.
///
/// A target takes any bytes. It returns if they were accepted or refused with the project's own errors; anything
/// else (another exception, a message that does not survive being written again, what a sanitizer finds) is a finding.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::fuzz {

/// The bytes of one trial.
using Input = std::span<const std::byte>;

/// One entry point.
struct Target {
  std::string_view name;                           ///< Also the name of its folder below corpus/.
  void (*run)(Input input);                        ///< Throws or aborts only on a finding.
  std::vector<std::vector<std::byte>> (*seeds)();  ///< Inputs that reach its inner branches, made by the real writers.
};

/// All of them.
[[nodiscard]] std::span<const Target> targets();

/// @throws ContractError  There is none of that name; lists those there are.
[[nodiscard]] const Target& target_named(std::string_view name);

/// Throws std::logic_error, which no target catches.
void finding_unless(bool is_as_it_must_be, const char* what);

}  // namespace lockstep::fuzz
