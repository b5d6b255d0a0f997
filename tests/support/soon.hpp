#pragma once
/// @file
/// The limit for a wait that ends at once unless something is broken.
#include <chrono>

#include "base/deadline.hpp"

namespace lockstep::test {

/// In 20 s: long enough for a loaded machine, and well below the limit of a test.
[[nodiscard]] inline Deadline soon() { return Deadline::after(std::chrono::seconds(20)); }

}  // namespace lockstep::test
