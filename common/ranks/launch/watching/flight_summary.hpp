#pragma once
/// @file
/// A summary of the flight records of all ranks of a job.
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

namespace lockstep::launch {

/// The failure as reported to the ranks, then the last `count` collectives of each rank in `folder`, newest last, as
/// indented lines under a line per rank: first the culprit, then ranks that are behind (have entered fewer collectives
/// than another), then the others. Empty if no rank has recorded anything; unreadable files are named in the text. The
/// culprit is the accused_rank() or, if no failure was reported to the ranks, the first rank that failed.
/// @param most_ranks  Limit on ranks shown; the others are only counted.
[[nodiscard]] std::string flight_summary(const std::filesystem::path& folder, std::size_t count,
                                         std::size_t most_ranks = std::numeric_limits<std::size_t>::max());

/// The rank that was reported to most ranks in `folder` as the culprit, ignoring ranks that were already blamed
/// themselves by then. Nullopt if there is none.
[[nodiscard]] std::optional<int> accused_rank(const std::filesystem::path& folder);

}  // namespace lockstep::launch
