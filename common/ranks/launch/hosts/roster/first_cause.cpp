#include "launch/hosts/roster/first_cause.hpp"

#include <signal.h>

#include "base/error.hpp"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

// Time by which the report of a cause may arrive after those of its consequences.
constexpr auto kLateCause = 1500ms;

bool is_request_to_end(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

}  // namespace

std::optional<std::string> FirstCause::hear_failure(EndCause heard, bool is_its_host) {
  // The host of a rank that another host's ranks have named: its report is more precise.
  const bool is_named =
      cause_.kind == EndCause::Kind::kRank && cause_.rank == heard.rank && cause_.agent != heard.agent && is_its_host;
  if (is_named) {
    heard.when = cause_.when;
    cause_ = std::move(heard);
    return cause_.text;
  }
  // Killed from outside, so not a consequence of the first reported failure.
  const bool is_killed = heard.exit_code == 128 + SIGKILL;
  if (is_killed && may_be_consequence()) return correct(std::move(heard));
  return std::nullopt;
}

std::string FirstCause::hear_loss(EndCause heard, Deadline::Clock::time_point last_heard) {
  // The ranks of other hosts may have noticed before us that this host's do not answer.
  const bool came_first = may_be_consequence() && cause_.agent != heard.agent && last_heard <= cause_.when + kLateCause;
  return came_first ? correct(std::move(heard)) : heard.text;
}

void FirstCause::hear_signal(EndCause heard) {
  const bool got_it_first = cause_.agent == heard.agent && is_request_to_end(cause_.exit_code - 128);
  if (got_it_first) cause_ = std::move(heard);  // its ranks got the signal and have ended
}

void FirstCause::hear_end(int agent, const std::vector<std::string>& last_lines) {
  if (cause_.agent == agent && cause_.kind == EndCause::Kind::kRank) cause_.last_lines = last_lines;
}

// A rank that ended on its own may have done so because another one was missing.
bool FirstCause::may_be_consequence() const noexcept {
  return cause_.kind == EndCause::Kind::kRank && cause_.exit_code < 128;
}

std::string FirstCause::correct(EndCause cause) {
  cause_ = std::move(cause);
  return concat(cause_.text, ", and that came first");
}

}  // namespace lockstep::launch
