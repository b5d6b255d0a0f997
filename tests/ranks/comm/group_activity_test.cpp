#include "comm/host/group_activity.hpp"

#include "support/catch.hpp"

using namespace lockstep;
using comm::CallStep;
using comm::Fingerprint;
using comm::GroupActivity;

TEST_CASE("an agreement that arrives after the group is destroyed does not bring it back", "[comm]") {
  GroupActivity activity;
  const Fingerprint call{.sequence = 0, .collective = comm::Collective::kBarrier};
  activity.note(7, call, CallStep::kIssued);
  activity.on_posted(7);
  CHECK(activity.forget_group(7).at(7).issued == call);
  activity.on_agreed(7, call);
  CHECK(activity.status().empty());  // otherwise rank 0 would take this rank for one that has never entered the call
}

TEST_CASE("a rank knows the calls on which all agree up to the last one that it was told of", "[comm]") {
  GroupActivity activity;
  Fingerprint call{.sequence = 0, .collective = comm::Collective::kBarrier};
  activity.on_posted(7);
  CHECK_FALSE(activity.is_agreed(7, call));
  call.sequence = 2;
  activity.on_agreed(7, call);
  CHECK(activity.is_agreed(7, call));
  call.sequence = 3;
  CHECK_FALSE(activity.is_agreed(7, call));
}
