#include "launch/hosts/agent_progress.hpp"

#include "base/error.hpp"

namespace lockstep::launch {
namespace {

std::string_view without_end(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

void AgentProgress::begin() {
  step_ = Step::kStarting;
  last_line_.clear();
  exit_code_.reset();
  failure_.reset();
}

void AgentProgress::take_line(OutputStream stream, std::string_view line) {
  const bool is_from_ranks = step_ == Step::kStarted;
  if (stream == OutputStream::kErr) {
    if (is_from_ranks) return output_(stream, line);
    if (!without_end(line).empty()) last_line_ = without_end(line);
    return;
  }
  if (step_ == Step::kStarting) {  // any other line is from the login shell
    if (without_end(line) == kAgentGreeting) step_ = Step::kGreeted;
    return;
  }
  const std::size_t mark = line.find(mark_);
  if (mark == std::string_view::npos) return is_from_ranks ? output_(stream, line) : void();
  if (mark > 0) output_(stream, concat(line.substr(0, mark), "\n"));  // a rank's last line, without line end
  if (const auto report = decode_report(without_end(line).substr(mark + mark_.size()))) take_report(*report);
}

void AgentProgress::take_report(const HostReport& report) {
  switch (report.kind) {
    case HostReport::Kind::kStarted:
      step_ = Step::kStarted;
      has_ever_started_ = true;
      started_ = Deadline::never();
      return;
    case HostReport::Kind::kMeeting:
      port_ = report.number;
      return;
    case HostReport::Kind::kFailed:
      failure_ = report.text;
      return;
    case HostReport::Kind::kEnded:
      exit_code_ = report.number;
      return;
  }
}

}  // namespace lockstep::launch
