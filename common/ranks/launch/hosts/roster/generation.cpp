#include "launch/hosts/roster/generation.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/preemption.hpp"

namespace lockstep::launch {
namespace {

bool has_member_ended(const Generation::Member& member) { return member.exit_code.has_value(); }

}  // namespace

void Generation::end(int agent, int exit_code) {
  std::ranges::find(members_, agent, &Member::agent)->exit_code = exit_code;
}

void Generation::lose(int agent) {
  const auto lost = std::ranges::find(members_, agent, &Member::agent);
  if (lost == members_.end()) return;
  lost->is_lost = true;
  if (!lost->exit_code) lost->exit_code = 1;
}

int Generation::world_size() const noexcept {
  return members_.empty() ? 0 : members_.back().first_rank + members_.back().rank_count;
}

const Generation::Member* Generation::find(int agent) const {
  const auto found = std::ranges::find(members_, agent, &Member::agent);
  return found == members_.end() ? nullptr : &*found;
}

bool Generation::runs_on(int agent) const {
  const Member* member = find(agent);
  return member != nullptr && !member->exit_code;
}

std::optional<int> Generation::agent_of(int rank) const {
  for (const Member& each : members_) {
    const bool is_its_rank = rank >= each.first_rank && rank < each.first_rank + each.rank_count;
    if (is_its_rank && !each.is_lost) return each.agent;
  }
  return std::nullopt;
}

bool Generation::is_ending() const { return std::ranges::any_of(members_, has_member_ended); }

bool Generation::has_ended() const { return std::ranges::all_of(members_, has_member_ended); }

bool Generation::has_saved() const {
  return std::ranges::all_of(members_, [](const Member& each) { return each.exit_code == kRequeueExitCode; });
}

std::string ranks_text(const Generation::Member& member) {
  if (member.rank_count == 1) return concat("rank ", member.first_rank);
  return concat("ranks ", member.first_rank, " to ", member.first_rank + member.rank_count - 1);  // - 1: the last
}

}  // namespace lockstep::launch
