#pragma once
/// @file
/// What the emulator's checker has found, as a verdict with the lines of the learner's file.
#include <map>
#include <string>
#include <vector>

#include "exercise/kernel_findings.hpp"
#include "exercise/verdict.hpp"

namespace lockstep::exercise {

/// The text of a learner's files by their names, without folders. Names in a finding come from the judged program: they
/// are looked up here, and never opened.
using SourceFiles = std::map<std::string, std::string>;

/// The first finding decides the class; its lines of source, and what the checker says of each finding, are the
/// evidence.
/// @param findings  At least one. @param source_folder  How the learner's folder is named; empty: no source is shown.
/// @param sources  The only files that are quoted.
/// @throws FormatError  A finding names a verdict that the checker does not give.
[[nodiscard]] Failure failure_of(const std::vector<KernelFinding>& findings, const std::string& source_folder,
                                 const SourceFiles& sources);

}  // namespace lockstep::exercise
