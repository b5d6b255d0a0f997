#include "launch/hosts/host_member.hpp"

#include <signal.h>

#include <utility>

#include "base/error.hpp"
#include "base/process.hpp"
#include "launch/hosts/ssh_command.hpp"
#include "launch/local/wait_status.hpp"

namespace lockstep::launch {
namespace {

constexpr int kSshFailed = 255;      // ssh(1): "or with 255 if an error occurred"
constexpr int kNotExecutable = 126;  // sh
constexpr int kNotFound = 127;       // sh

std::string_view without_end(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

HostMember::HostMember(HostStart start, std::string mark, Output output)
    : start_(std::move(start)), mark_(std::move(mark)), output_(std::move(output)) {}

void HostMember::start(const InheritedSignals& signals, std::chrono::milliseconds limit) {
  step_ = Step::kStarting;
  is_late_ = false;
  exit_code_.reset();
  failure_.reset();
  problem_.reset();
  last_line_.clear();
  limit_ = Deadline::after(limit);
  process_ = std::make_unique<HostProcess>(
      start_.command, signals, [this](OutputStream stream, std::string_view line) { take_line(stream, line); });
}

void HostMember::watch(std::vector<pollfd>& watched, bool takes_output) const {
  if (process_) process_->watch(watched, takes_output);
}

void HostMember::advance(bool takes_output) {
  if (!process_) return;
  process_->advance(takes_output);
  if (const auto status = process_->status()) return conclude(*status);
  if (!limit_.has_expired() || step_ == Step::kStarted) return;
  is_late_ = true;
  limit_ = Deadline::never();
  kill();
}

void HostMember::send_order(const HostOrder& order) {
  step_ = Step::kOrdered;
  process_->send(encode(order));
}

void HostMember::tell(std::string_view line) {
  if (process_ && (step_ == Step::kOrdered || step_ == Step::kStarted)) process_->send(concat(line, "\n"));
}

void HostMember::end() {
  if (!process_) return;
  process_->close_input();
  if (step_ == Step::kStarting && !start_.is_local) process_->signal(SIGTERM);  // ssh, which may be connecting
}

void HostMember::kill() noexcept {
  if (process_) process_->signal(SIGKILL);
}

std::optional<std::string> HostMember::take_problem() { return std::exchange(problem_, std::nullopt); }

void HostMember::take_line(OutputStream stream, std::string_view line) {
  const bool is_from_ranks = step_ == Step::kStarted;
  if (stream == OutputStream::kErr) {
    if (is_from_ranks) return output_(stream, line);
    if (!without_end(line).empty()) last_line_ = without_end(line);
    return;
  }
  if (step_ == Step::kStarting) {  // what is not the greeting is the login shell's
    if (without_end(line) == kAgentGreeting) step_ = Step::kGreeted;
    return;
  }
  const std::size_t mark = line.find(mark_);
  if (mark == std::string_view::npos) return is_from_ranks ? output_(stream, line) : void();
  if (mark > 0) output_(stream, concat(line.substr(0, mark), "\n"));  // a rank's last line, which lacks its end
  if (const auto report = decode_report(without_end(line).substr(mark + mark_.size()))) take_report(*report);
}

void HostMember::take_report(const HostReport& report) {
  switch (report.kind) {
    case HostReport::Kind::kStarted:
      step_ = Step::kStarted;
      has_ever_started_ = true;
      limit_ = Deadline::never();
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

void HostMember::conclude(int status) {
  process_.reset();
  limit_ = Deadline::never();
  if (!exit_code_) problem_ = problem_of(status);
}

std::string HostMember::problem_of(int status) const {
  if (failure_) return *failure_;
  const int code = exit_code_of(status);
  const std::string said = last_line_.empty() ? "" : concat(": ", last_line_);
  const std::string advice = start_.is_local ? "" : concat("; ", ssh_advice(last_line_, start_.entry));
  if (is_late_ && step_ == Step::kStarting) return concat("does not answer", said, advice);
  if (is_late_) return concat("its agent was told what to do and has not begun", said);
  if (step_ == Step::kStarted)
    return concat("its agent ", describe_end(status), ", or the connection to it broke", said);
  if (step_ == Step::kStarting && code == kSshFailed && !start_.is_local)
    return concat("cannot be reached", said, advice);
  if (code == kNotFound || code == kNotExecutable) {
    return concat("lockstep cannot be run there", said,
                  "; the programs must be at the same path on all hosts, built for their processors");
  }
  return concat("its agent ", describe_end(status), " before it had begun", said, advice);
}

}  // namespace lockstep::launch
