#pragma once
/// @file
/// The accelerator that a test runs on.
#include "base/environment.hpp"
#include "base/error.hpp"
#include "device/device.hpp"
#include "support/skip.hpp"

namespace lockstep::test {

/// The first device of the kind that this build computes on. Without one, the test case is skipped or, with
/// LOCKSTEP_REQUIRE_GPU=1 for machines that have a GPU, fails.
/// @throws Error  There is none, and LOCKSTEP_REQUIRE_GPU=1.
[[nodiscard]] inline Device accelerator() {
  const Device device{accelerator_type(), 0};
  try {
    device.require_available();
  } catch (const UnavailableError& error) {
    if (environment::get("LOCKSTEP_REQUIRE_GPU").value_or("0") != "0")
      throw Error(concat("LOCKSTEP_REQUIRE_GPU is set, but this test finds no device: ", error.what()));
    skip(error.what());
  }
  return device;
}

}  // namespace lockstep::test
