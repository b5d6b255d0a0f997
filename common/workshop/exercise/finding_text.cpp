#include "exercise/finding_text.hpp"

#include <sstream>

#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::size_t kMostFindings = 5;  // quoted with the checker's full text

// The line without its indentation; empty if the number is out of range.
std::string source_line(const std::string& text, unsigned number) {
  std::istringstream in(text);
  std::string line;
  for (unsigned i = 0; i < number; ++i)
    if (!std::getline(in, line)) return "";
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? "" : line.substr(begin);
}

void add_lines(std::vector<std::string>& evidence, const KernelFinding& finding, const std::string& source_folder,
               const SourceFiles& sources) {
  if (source_folder.empty()) return;
  std::string shown;
  for (const KernelLine& line : finding.lines) {
    const auto source = sources.find(line.file);
    if (source == sources.end()) continue;
    const std::string text = source_line(source->second, line.line);
    const std::string entry = concat(source_folder, "/", line.file, ":", line.line, ":  ", text);
    if (!text.empty() && entry != shown) evidence.push_back(entry);
    shown = entry;
  }
}

// A judged program could forge any verdict, even one that says that grading has failed.
VerdictClass verdict_of(const KernelFinding& finding) {
  const VerdictClass verdict = verdict_named(finding.verdict);
  for (const VerdictClass possible :
       {VerdictClass::kRace, VerdictClass::kCrash, VerdictClass::kWrong, VerdictClass::kHang, VerdictClass::kLeak})
    if (verdict == possible) return verdict;
  throw FormatError(concat("the checker's findings never have the verdict ", finding.verdict));
}

}  // namespace

Failure failure_of(const std::vector<KernelFinding>& findings, const std::string& source_folder,
                   const SourceFiles& sources) {
  const KernelFinding& first = findings.front();
  Failure failure{.verdict = verdict_of(first), .summary = first.summary, .evidence = {}, .next = first.hint};
  add_lines(failure.evidence, first, source_folder, sources);
  for (std::size_t i = 0; i < findings.size() && i < kMostFindings; ++i) {
    std::istringstream text(findings[i].text);
    for (std::string line; std::getline(text, line);) failure.evidence.push_back(line);
  }
  if (findings.size() > kMostFindings)
    failure.evidence.push_back(concat("and ", findings.size() - kMostFindings, " more findings"));
  return failure;
}

}  // namespace lockstep::exercise
