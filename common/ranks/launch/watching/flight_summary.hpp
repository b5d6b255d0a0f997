#pragma once
/// @file
/// The flight records of all ranks of a job, side by side.
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

namespace lockstep::launch {

/// What the ranks were told about the failure, then the last `count` collectives of each rank in `folder`, newest last,
/// as indented lines under a line per rank: first the culprit, then whoever is behind (has entered fewer collectives
/// than another), then the others. Empty where no rank has recorded anything; files that cannot be read are named in
/// the text. The culprit is the accused_rank(), or the first rank to end badly where the ranks were told nothing.
/// @param most_ranks  So many ranks are shown, and the others are counted.
[[nodiscard]] std::string flight_summary(const std::filesystem::path& folder, std::size_t count,
                                         std::size_t most_ranks = std::numeric_limits<std::size_t>::max());

/// The rank that most ranks in `folder` were told is at fault, not counting those which had been given up themselves by
/// then. Nothing where none is accused.
[[nodiscard]] std::optional<int> accused_rank(const std::filesystem::path& folder);

}  // namespace lockstep::launch
