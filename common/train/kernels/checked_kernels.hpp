#pragma once
/// @file
/// The emulator's checked kernels, which are a shared library of their own. Internal to this module.
#include "kernels/operations.hpp"

namespace lockstep::kernels {

/// The kernels that report what is wrong with their memory accesses. Loads their library with the first call; it stays
/// loaded until the process ends.
/// @throws UnavailableError  The library was not built; names the command that builds it.
[[nodiscard]] const Operations& checked_operations();

}  // namespace lockstep::kernels
