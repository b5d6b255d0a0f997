#pragma once
/// @file
/// What judges of kernels check: how often a kernel went to memory. On a GPU, which counts nothing, these checks pass.
#include <cstdint>
#include <string>

#include "exercise/examination.hpp"
#include "exercise/kernel_counts.hpp"

namespace lockstep::exercise {

/// The counts of the only rank; all zero on a GPU. @throws CheckFailed  The answer makes no sense.
[[nodiscard]] KernelCounts counts_of(const Outcome& outcome);

/// Fails unless `count` is at most `bound`; the lines that access memory are the evidence.
/// @param what  As in "stores to device memory touch": "<what> <count> <unit>; <bound> are enough".
/// @param unit  Such as sectors. @param next  One thing to try. @throws CheckFailed
void expect_at_most(Check& check, const Outcome& outcome, const std::string& what, std::uint64_t count,
                    std::uint64_t bound, const std::string& unit, const std::string& next);

/// Whether no thread has written this element of a poisoned DeviceArray: all its bits are one, which no computation
/// gives.
[[nodiscard]] bool is_unwritten(float value);

}  // namespace lockstep::exercise
