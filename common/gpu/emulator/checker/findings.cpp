#include "emulator/checker/findings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <tuple>

#include "base/terminal.hpp"
#include "emulator/checker/finding_log.hpp"

namespace lockstep::emulator {
namespace checker {

FindingLog& FindingLog::instance() {
  static auto* const log = new FindingLog;  // NOLINT: never destroyed, for findings of other threads at exit
  return *log;
}

FindingLog::Key FindingLog::key_of(const Finding& finding) {
  Key key{finding.kind, {}};
  for (const FindingSide& side : finding.sides) key.second.emplace_back(side.place.file, side.place.line);
  std::sort(key.second.begin(), key.second.end());
  if (key.second.empty()) key.second.emplace_back(finding.kernel + finding.detail, 0);
  return key;
}

std::size_t FindingLog::add(const Finding& finding) {
  const std::scoped_lock lock(mutex_);
  total_ += finding.count;
  const auto [known, is_new] = index_.try_emplace(key_of(finding), findings_.size());
  if (!is_new) {
    findings_[known->second].count += finding.count;
    return known->second;
  }
  findings_.push_back(finding);
  if (is_printing_ && findings_.size() <= kMostPrinted)
    std::fputs(wrap_for(STDERR_FILENO, to_text(finding), 4).c_str(), stderr);
  if (is_printing_ && findings_.size() == kMostPrinted) {
    std::fputs("emulated CUDA: further findings are only listed at the end.\n", stderr);
  }
  return known->second;
}

void FindingLog::add_again(std::size_t index) {
  const std::scoped_lock lock(mutex_);
  if (index >= findings_.size()) return;
  ++total_;
  ++findings_[index].count;
}

void FindingLog::clear() {
  const std::scoped_lock lock(mutex_);
  findings_.clear();
  index_.clear();
  total_ = 0;
  ++generation_;
}

std::vector<Finding> FindingLog::all() const {
  const std::scoped_lock lock(mutex_);
  return findings_;
}

}  // namespace checker

using checker::FindingLog;

std::vector<Finding> findings() { return FindingLog::instance().all(); }
void clear_findings() { FindingLog::instance().clear(); }
void report_finding(const Finding& finding) { FindingLog::instance().add(finding); }
void print_findings(bool is_on) { FindingLog::instance().set_printing(is_on); }

}  // namespace lockstep::emulator
