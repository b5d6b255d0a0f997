#pragma once
/// @file
/// Checks for judges of kernels: how often a kernel accessed memory. On a GPU, which does not count, they pass.
#include <cstdint>
#include <string>

#include "exercise/examination.hpp"
#include "exercise/kernel_counts.hpp"

namespace lockstep::exercise {

/// The only rank's counts; all zero on a GPU. @throws CheckFailed  The answer is malformed.
[[nodiscard]] KernelCounts counts_of(const Outcome& outcome);

/// Fails unless `count` is at most `bound`; the evidence is the lines that access memory.
/// @param what  As in "stores to device memory touch": "<what> <count> <unit>; <bound> are enough".
/// @param unit  Such as sectors. @param next  One thing to try. @throws CheckFailed
void expect_at_most(Check& check, const Outcome& outcome, const std::string& what, std::uint64_t count,
                    std::uint64_t bound, const std::string& unit, const std::string& next);

/// True if no thread has written this element of a poisoned DeviceArray: all bits are one, which no computation gives.
[[nodiscard]] bool is_unwritten(float value);

}  // namespace lockstep::exercise
