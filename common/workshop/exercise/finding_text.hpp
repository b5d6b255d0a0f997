#pragma once
/// @file
/// Turns the findings of the emulator's checker into a verdict that quotes the learner's file.
#include <map>
#include <string>
#include <vector>

#include "exercise/kernel_findings.hpp"
#include "exercise/verdict.hpp"

namespace lockstep::exercise {

/// The text of a learner's files by file name, without folders. The judged program may forge names in a finding, so
/// they are only looked up here, never opened.
using SourceFiles = std::map<std::string, std::string>;

/// The first finding decides the verdict; its lines of source and the checker's text for each finding are the evidence.
/// @param findings  At least one. @param source_folder  The learner's folder as shown; empty: no source is shown.
/// @param sources  The only files that are quoted.
/// @throws FormatError  A finding has a verdict that the checker never gives.
[[nodiscard]] Failure failure_of(const std::vector<KernelFinding>& findings, const std::string& source_folder,
                                 const SourceFiles& sources);

}  // namespace lockstep::exercise
