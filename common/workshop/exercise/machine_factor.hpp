#pragma once
/// @file
/// The slowness of this machine, for limits on time that mean the same everywhere.

namespace lockstep::exercise {

/// The time for a fixed computation, relative to the machine on which the limits were chosen; in [1, 20].
struct MachineFactor {
  double wall = 1;       ///< Wall time; grows with the load.
  double processor = 1;  ///< Processor time; does not.
};

/// Measured at the first call. @cost  Some 30 ms once.
[[nodiscard]] const MachineFactor& machine_factor();

}  // namespace lockstep::exercise
