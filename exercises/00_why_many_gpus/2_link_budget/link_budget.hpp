#pragma once
/// @file
/// Given: what the link budget of exercise 00.2 is asked, and what it answers.
#include "exercise/todo.hpp"

namespace lockstep::plan {

/// In what a data sheet counts: 10^9 bytes per second, or 10^9 bits per second. A byte has 8 bits.
enum class RateUnit { kGigabytes, kGigabits };

/// Which directions a data sheet's bandwidth adds up. Links are full duplex: both directions have the same bandwidth,
/// and both can be used at the same time.
enum class Directions { kOneWay, kBothWays };

/// A link as its data sheet describes it.
struct LinkLabel {
  double rate = 1;                           ///< Bandwidth, in `unit` per second; more than 0.
  RateUnit unit = RateUnit::kGigabytes;      ///< Networks are labelled in bits, buses in bytes.
  Directions counted = Directions::kOneWay;  ///< NVLink's label counts both ways, PCIe's and networks' one.
  double alpha_us = 0;                       ///< Latency of one message, in microseconds.
};

/// The cost of an all-reduce if every rank has such a link to the others. Bytes are those of one direction.
struct LinkBudget {
  double bytes_per_second = 0;  ///< beta: the bandwidth of one direction.
  double ring_bytes = 0;        ///< Sent by each rank in a ring all-reduce.
  double ring_seconds = 0;      ///< How long that takes.
  double star_seconds = 0;      ///< How long a star takes: as long as its centre is busy.
  double efficiency = 0;        ///< Computing's share of a step, if the ring begins when the computing is done.
};

/// @param label              The link.
/// @param bytes              Of the buffer on each rank; at least 0.
/// @param world_size         How many ranks; at least 1.
/// @param computing_seconds  Of one step, without communication; more than 0.
[[nodiscard]] LinkBudget link_budget(const LinkLabel& label, double bytes, int world_size, double computing_seconds);

}  // namespace lockstep::plan
