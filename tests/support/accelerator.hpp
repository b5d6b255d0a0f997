#pragma once
/// @file
/// The device beside the CPU that a test runs on.
#include <cstdlib>
#include <iostream>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "device/device.hpp"

namespace lockstep::test {

/// Exit status of a test that is skipped (SKIP_RETURN_CODE of CTest).
inline constexpr int kSkipped = 77;

/// The first device of the kind that this build computes on. Where there is none the test, which CTest runs as a
/// process of its own, ends as skipped; with LOCKSTEP_REQUIRE_GPU=1, for machines that have a GPU, it fails instead.
/// @throws Error  There is none, with LOCKSTEP_REQUIRE_GPU=1.
[[nodiscard]] inline Device accelerator() {
  const Device device{accelerator_type(), 0};
  try {
    device.require_available();
  } catch (const UnavailableError& error) {
    if (environment::get("LOCKSTEP_REQUIRE_GPU").value_or("0") != "0")
      throw Error(concat("LOCKSTEP_REQUIRE_GPU is set, but this test finds no device: ", error.what()));
    std::cerr << "skipped: " << error.what() << "\n";
    std::exit(kSkipped);
  }
  return device;
}

}  // namespace lockstep::test
