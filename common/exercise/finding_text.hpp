#pragma once
/// @file
/// What the emulator's checker has found, as a verdict with the lines of the learner's file.
#include <string>
#include <vector>

#include "exercise/kernel_findings.hpp"
#include "exercise/verdict.hpp"

namespace lockstep::exercise {

/// The first finding decides the class; its lines of source, and what the checker says of each finding, are the
/// evidence.
/// @param findings  At least one. @param source_folder  Of the learner's files; empty: no source is shown.
/// @throws FormatError  A finding names a verdict that does not exist.
[[nodiscard]] Failure failure_of(const std::vector<KernelFinding>& findings, const std::string& source_folder);

}  // namespace lockstep::exercise
