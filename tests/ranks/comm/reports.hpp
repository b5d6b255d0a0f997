#pragma once
/// @file
/// What ranks report to the control plane's hub, for tests of its parts without connections.
#include <chrono>

#include "comm/control/wire.hpp"

namespace lockstep::test {

/// A rank that runs a collective of a group, its last one there.
[[nodiscard]] inline comm::RankStatus in_call(int group, const comm::Fingerprint& call,
                                              std::chrono::milliseconds running_for) {
  comm::RankStatus status;
  status[group].issued = status[group].running = call;
  status[group].running_for = running_for;
  return status;
}

/// A rank that runs one send or recv of a group, and has entered nothing else there.
[[nodiscard]] inline comm::RankStatus in_message(int group, const comm::PairStatus& pair) {
  comm::RankStatus status;
  status[group].pairs = {pair};
  status[group].begun[{pair.operation.collective, pair.operation.root}] = pair.operation.sequence + 1;
  return status;
}

}  // namespace lockstep::test
