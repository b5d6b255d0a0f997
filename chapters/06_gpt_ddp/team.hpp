#pragma once
/// @file
/// What `run`, which knows nothing of process groups, needs from one.
#include "comm/process_group.hpp"
#include "run/team.hpp"

namespace lockstep::ddp {

/// The ranks of `group` as a run sees them. @param group  Must outlive the run.
[[nodiscard]] run::Team team_of(comm::ProcessGroup& group);

}  // namespace lockstep::ddp
