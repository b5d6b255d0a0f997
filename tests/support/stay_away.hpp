#pragma once
/// @file
/// For tests of what ranks do about one that does not come. Needs lockstep::rank_test_support.
#include "comm/control/control_plane.hpp"
#include "comm/job_context.hpp"
#include "support/soon.hpp"

namespace lockstep::test {

/// Keeps this rank alive and out of every call until another one has failed.
inline void stay_away(const comm::JobContext& context) { (void)context.control->wait_for_failure(soon()); }

}  // namespace lockstep::test
