#pragma once
/// @file
/// Who comes last to a job's collectives, one after another.
#include <cstddef>
#include <string>

#include "launch/watching/flight_files.hpp"

namespace lockstep::launch {

/// The last `count` collectives of the whole job that all ranks on this host have entered: a line per rank, with how
/// often it came last, how long after the first (in the median and at most), and those delays over time as a row of
/// bars, oldest first, all rows to one scale. Then who the others wait for, if one rank stands out.
///
/// A rank that comes last makes the others wait for so long: they cannot go on without it. Ranks of other hosts are
/// left out, since each host counts time for itself.
/// @return  Empty where fewer than two ranks are on this host, or have entered no collective in common.
[[nodiscard]] std::string arrivals_summary(const FlightFiles& records, std::size_t count);

}  // namespace lockstep::launch
