#include "exercise/kernel_findings.hpp"

#include <nlohmann/json.hpp>

namespace lockstep::exercise {

nlohmann::json to_message(const std::vector<KernelFinding>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const KernelFinding& finding : findings) {
    nlohmann::json lines = nlohmann::json::array();
    for (const KernelLine& line : finding.lines) lines.push_back({{"file", line.file}, {"line", line.line}});
    list.push_back({{"verdict", finding.verdict},
                    {"summary", finding.summary},
                    {"behaviour", finding.behaviour},
                    {"lines", lines},
                    {"text", finding.text},
                    {"hint", finding.hint}});
  }
  return list;
}

std::vector<KernelFinding> findings_in(const nlohmann::json& message) {
  std::vector<KernelFinding> findings;
  for (const nlohmann::json& entry : message) {
    KernelFinding finding{.verdict = entry.at("verdict"),
                          .summary = entry.at("summary"),
                          .behaviour = entry.at("behaviour"),
                          .lines = {},
                          .text = entry.at("text"),
                          .hint = entry.at("hint")};
    for (const nlohmann::json& line : entry.at("lines")) finding.lines.push_back({line.at("file"), line.at("line")});
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace lockstep::exercise
