#include "launch/hosts/host_member.hpp"

#include <signal.h>

#include <utility>

#include "base/error.hpp"
#include "base/process.hpp"
#include "launch/hosts/ssh_command.hpp"
#include "launch/local/wait_status.hpp"

namespace lockstep::launch {
namespace {

using Step = AgentProgress::Step;

constexpr int kSshFailed = 255;      // ssh(1): "or with 255 if an error occurred"
constexpr int kNotExecutable = 126;  // sh
constexpr int kNotFound = 127;       // sh

}  // namespace

HostMember::HostMember(HostStart start, std::string mark, AgentProgress::Output output)
    : start_(std::move(start)), agent_(std::move(mark), std::move(output)) {}

void HostMember::start(const InheritedSignals& signals, std::chrono::milliseconds limit) {
  agent_.begin();
  is_late_ = false;
  problem_.reset();
  process_ = std::make_unique<HostProcess>(
      start_.command, signals, [this](OutputStream stream, std::string_view line) { agent_.take_line(stream, line); });
  limit_ = Deadline::after(limit);
}

void HostMember::watch(std::vector<pollfd>& watched, bool takes_output) const {
  if (process_) process_->watch(watched, takes_output);
}

void HostMember::advance(bool takes_output) {
  if (!process_) return;
  process_->advance(takes_output);
  if (agent_.step() == Step::kStarted) limit_ = Deadline::never();
  if (const auto status = process_->status()) {
    process_.reset();
    limit_ = Deadline::never();
    if (!agent_.exit_code()) problem_ = problem_of(*status);
  } else if (limit_.has_expired()) {
    is_late_ = true;
    limit_ = Deadline::never();
    kill();
  }
}

void HostMember::send_order(const HostOrder& order) {
  agent_.note_order();
  process_->send(encode(order));
}

void HostMember::tell(std::string_view line) {
  if (is_at(Step::kOrdered) || is_at(Step::kStarted)) process_->send(concat(line, "\n"));
}

void HostMember::end() {
  if (!process_) return;
  process_->close_input();
  if (is_at(Step::kStarting) && !start_.is_local) process_->signal(SIGTERM);  // ssh, which may be connecting
}

void HostMember::kill() noexcept {
  if (process_) process_->signal(SIGKILL);
}

std::optional<std::string> HostMember::take_problem() { return std::exchange(problem_, std::nullopt); }

std::string HostMember::problem_of(int status) const {
  if (agent_.failure()) return *agent_.failure();
  const int code = exit_code_of(status);
  const bool has_not_greeted = agent_.step() == Step::kStarting;
  const std::string said = agent_.last_line().empty() ? "" : concat(": ", agent_.last_line());
  const std::string advice = start_.is_local ? "" : concat("; ", ssh_advice(agent_.last_line(), start_.entry));
  if (is_late_ && has_not_greeted) return concat("does not answer", said, advice);
  if (is_late_) return concat("its agent was told what to do and has not begun", said);
  if (agent_.step() == Step::kStarted)
    return concat("its agent ", describe_end(status), ", or the connection to it broke", said);
  if (has_not_greeted && code == kSshFailed && !start_.is_local) return concat("cannot be reached", said, advice);
  if (code == kNotFound || code == kNotExecutable) {
    return concat("lockstep cannot be run there", said,
                  "; the programs must be at the same path on all hosts, built for their processors");
  }
  return concat("its agent ", describe_end(status), " before it had begun", said, advice);
}

}  // namespace lockstep::launch
