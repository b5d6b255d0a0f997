#pragma once
/// @file
/// Ranks that tell the control plane what they are in and exchange no data: for tests of who is found to be at fault.
#include "comm/control/control_plane.hpp"
#include "comm/fingerprint.hpp"
#include "comm/job_context.hpp"
#include "support/soon.hpp"

namespace lockstep::test {

/// Says that this rank has issued a collective and is in it.
inline void enter(const comm::JobContext& context, int group, const comm::Fingerprint& fingerprint) {
  context.control->note(group, fingerprint, comm::CallStep::kIssued);
  context.control->note(group, fingerprint, comm::CallStep::kStarted);
}

/// The message to this rank about the job's failure; culprit -1 and "no failure" if nothing comes.
[[nodiscard]] inline comm::Failure verdict(const comm::JobContext& context) {
  const auto failure = context.control->wait_for_failure(soon());
  return failure ? *failure : comm::Failure{comm::FailureKind::kAborted, -1, "no failure"};
}

}  // namespace lockstep::test
