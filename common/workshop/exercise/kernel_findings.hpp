#pragma once
/// @file
/// What the emulator's checker has found in a learner's kernels, on its way from the judged process to the judge.
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::exercise {

/// A line of a kernel that takes part in a finding.
struct KernelLine {
  std::string file;   ///< Its name, without folders.
  unsigned line = 0;  ///< From 1.
};

/// One finding.
struct KernelFinding {
  std::string verdict;            ///< As name_of(VerdictClass) says it: RACE, CRASH, WRONG, HANG.
  std::string summary;            ///< One sentence without a full stop.
  std::string behaviour;          ///< Equal for kernels with the same fault: without lines, names and addresses.
  std::vector<KernelLine> lines;  ///< The earlier access first.
  std::string text;               ///< The checker's own words, several lines.
  std::string hint;               ///< One thing to try.
};

/// Thrown by run_kernels().
class KernelFault : public std::runtime_error {
 public:
  /// @param findings  At least one; the first decides the verdict.
  explicit KernelFault(std::vector<KernelFinding> findings)
      : std::runtime_error(findings.front().summary),
        findings_(std::make_shared<const std::vector<KernelFinding>>(std::move(findings))) {}

  /// In the order in which they were found.
  [[nodiscard]] const std::vector<KernelFinding>& findings() const noexcept { return *findings_; }

 private:
  std::shared_ptr<const std::vector<KernelFinding>> findings_;  // exceptions are copied, which must not throw
};

/// For messages.
[[nodiscard]] nlohmann::json to_message(const std::vector<KernelFinding>& findings);
/// The findings back. @throws nlohmann::json::exception  It is no list of findings.
[[nodiscard]] std::vector<KernelFinding> findings_in(const nlohmann::json& message);

}  // namespace lockstep::exercise
