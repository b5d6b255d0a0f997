#pragma once
/// @file
/// The flight records of all ranks of a job, side by side.
#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>

namespace lockstep::launch {

/// What the ranks were told about the failure, then the last `count` collectives of each rank in `folder`, newest last,
/// as indented lines under a line per rank: first the culprit, then whoever is behind (has entered fewer collectives
/// than another), then the others. Empty where no rank has recorded anything; files that cannot be read are named in
/// the text. The culprit is the rank that most ranks were told of, not counting those which had been given up
/// themselves by then.
/// @param most_ranks  So many ranks are shown, and the others are counted.
[[nodiscard]] std::string flight_summary(const std::filesystem::path& folder, std::size_t count,
                                         std::size_t most_ranks = std::numeric_limits<std::size_t>::max());

}  // namespace lockstep::launch
