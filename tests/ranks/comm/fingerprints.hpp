#pragma once
/// @file
/// Calls for tests of those that compare or record calls.
#include <cstdint>

#include "comm/fingerprint.hpp"

namespace lockstep::test {

/// Number `sequence` of a group's collectives.
[[nodiscard]] inline comm::Fingerprint all_reduce(std::uint64_t sequence, std::int64_t count = 10) {
  return {.sequence = sequence, .collective = comm::Collective::kAllReduce, .dtype = DType::kFloat32, .count = count};
}

/// Number `sequence` of the messages to or from `peer` (rank in the group).
[[nodiscard]] inline comm::Fingerprint message(comm::Collective direction, std::uint64_t sequence, int peer,
                                               std::int64_t count = 4) {
  return {.sequence = sequence, .collective = direction, .dtype = DType::kFloat32, .root = peer, .count = count};
}

}  // namespace lockstep::test
