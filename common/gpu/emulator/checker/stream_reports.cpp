#include "emulator/checker/stream_reports.hpp"

#include <string_view>

#include "base/text.hpp"
#include "emulator/checker/finding_log.hpp"
#include "emulator/checker/source_names.hpp"

namespace lockstep::emulator::checker {
namespace {

FindingSide side_of(const StreamUse& use) {
  const bool frees = std::string_view(use.operation.name) == "cudaFreeAsync";
  return {concat(use.operation.name, frees          ? " (frees)"
                                     : use.is_write ? " (writes)"
                                                    : " (reads)"),
          to_finding_place(use.operation.place),
          false,
          {},
          {}};
}

std::string line_text(const StreamUse& use) {
  if (use.line.line == 0) return "";
  const std::string file = use.line.file.substr(use.line.file.rfind('/') + 1);  // npos + 1 is 0
  return concat("; ", use.operation.name, use.is_write ? " writes it at " : " reads it at ", file, ":", use.line.line);
}

}  // namespace

std::size_t report_unordered(const StreamUse& one, const StreamUse& other, const std::string& memory) {
  const bool is_in_order = one.operation.issue <= other.operation.issue;
  const StreamUse& earlier = is_in_order ? one : other;
  const StreamUse& later = is_in_order ? other : one;
  Finding finding;
  finding.kind = FindingKind::kUnorderedStreams;
  finding.sides = {side_of(earlier), side_of(later)};
  finding.detail = concat(memory, line_text(earlier), line_text(later), "; nothing orders the two streams");
  const SourcePlace& wait = later.operation.empty_wait;
  if (wait.file != nullptr) {
    finding.kind = FindingKind::kUnrecordedEvent;
    finding.sides.insert(finding.sides.begin(), {"cudaStreamWaitEvent", to_finding_place(wait), false, {}, {}});
    finding.detail += ": the event had not been recorded, so the wait did nothing";
  }
  return FindingLog::instance().add(finding);
}

}  // namespace lockstep::emulator::checker
