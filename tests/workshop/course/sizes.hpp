#pragma once
/// @file
/// How long functions, files, classes and folders are: hard limits, and the style budget as a report.
#include <filesystem>
#include <string>

#include "project_files.hpp"

namespace lockstep::checks {

/// The results of measuring the project.
struct SizeReport {
  Problems problems;        ///< Hard limits that are broken.
  std::string budget_text;  ///< Median, 95th percentile, what stands between budget and hard limit.
};

/// Measures common/, chapters/ and tests/ below `root`. Hard limits: a function 80 lines, a header 300, a source 500, a
/// chapter's file 250, a chapter's folder 12 entries, naive_* 80 lines, the ring's core 150, train_gpt_single 150 with
/// a main of 60. In common/ and chapters/ a class has at most 20 methods and 15 members, and its methods are in one
/// source.
[[nodiscard]] SizeReport measure_sizes(const std::filesystem::path& root);

}  // namespace lockstep::checks
