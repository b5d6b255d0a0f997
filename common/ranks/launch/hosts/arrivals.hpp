#pragma once
/// @file
/// Reports which ranks arrive last at a job's collectives.
#include <cstddef>
#include <string>

#include "launch/watching/flight_files.hpp"

namespace lockstep::launch {

/// The last `count` collectives of the whole job that all ranks on this host have entered: a line per rank, with how
/// often it arrived last, its delay after the first (median and maximum), and those delays over time as a row of bars,
/// oldest first, all rows to one scale. Then the rank that the others wait for, if one stands out.
///
/// The others wait for the rank that arrives last, so its delay is their waiting time. Ranks of other hosts are left
/// out, since clocks of different hosts cannot be compared.
/// @return  Empty if fewer than two ranks are on this host, or they have entered no collective in common.
[[nodiscard]] std::string arrivals_summary(const FlightFiles& records, std::size_t count);

}  // namespace lockstep::launch
