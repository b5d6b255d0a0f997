#pragma once
/// @file
/// Finds what a user probably meant, for messages such as "there is no option --step; did you mean --steps?".
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

/// Number of single-character insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
/// @cost    a.size() * b.size() steps.
/// @source  Damerau, Commun. ACM 7(3), 1964 (restricted form: no substring is edited twice).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate closest to `word`, or nothing if none is close enough: at most a third of the longer word's characters
/// differ, or one begins with the other and `word` has three characters or more. The first of equally close candidates
/// wins.
[[nodiscard]] std::optional<std::string> nearest_match(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean tiny?", or an empty string if nothing is close enough.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace lockstep
