#pragma once
/// @file
/// Findings of the emulator's checker in a learner's kernels, sent from the judged process to the judge.
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

struct KernelFinding {
  std::string verdict;            ///< As in name_of(VerdictClass): RACE, CRASH, WRONG, HANG.
  std::string summary;            ///< One sentence without a full stop.
  std::string behaviour;          ///< Equal for kernels with the same fault; has no lines, names or addresses.
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

  /// In the order of discovery.
  [[nodiscard]] const std::vector<KernelFinding>& findings() const noexcept { return *findings_; }

 private:
  std::shared_ptr<const std::vector<KernelFinding>> findings_;  // exceptions are copied, which must not throw
};

[[nodiscard]] nlohmann::json to_message(const std::vector<KernelFinding>& findings);
/// The reverse. @throws nlohmann::json::exception  It is not a list of findings.
[[nodiscard]] std::vector<KernelFinding> findings_in(const nlohmann::json& message);

}  // namespace lockstep::exercise
