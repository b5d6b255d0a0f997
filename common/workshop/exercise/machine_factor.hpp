#pragma once
/// @file
/// How slow this machine is, so that limits of time mean the same everywhere.

namespace lockstep::exercise {

/// How many times longer than where the limits were chosen a given computation takes here, each from 1 to 20.
struct MachineFactor {
  double wall = 1;       ///< Of wall time: grows with the load.
  double processor = 1;  ///< Of processor time: does not.
};

/// Measured at the first call. @cost  Some 30 ms once.
[[nodiscard]] const MachineFactor& machine_factor();

}  // namespace lockstep::exercise
