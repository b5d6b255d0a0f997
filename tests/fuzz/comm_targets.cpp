#include "fuzz/comm_targets.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "comm/control_wire.hpp"
#include "comm/fingerprint.hpp"

namespace lockstep::fuzz {
namespace {

constexpr std::size_t kTagBytes = std::tuple_size_v<net::FrameTag>;

std::vector<std::byte> bytes_of_tag(const comm::Fingerprint& fingerprint) {
  const net::FrameTag tag = comm::to_tag(fingerprint);
  return {tag.begin(), tag.end()};
}

}  // namespace

void run_fingerprint(Input input) {
  if (input.size() != kTagBytes) return;
  net::FrameTag tag{};
  std::ranges::copy(input, tag.begin());
  try {
    const comm::Fingerprint fingerprint = comm::from_tag(1, tag);
    finding_unless(comm::to_tag(fingerprint) == tag, "a fingerprint reads as what it is not");
    finding_unless(!comm::describe(fingerprint).empty(), "a fingerprint without words");
  } catch (const FormatError&) {
  }
}

Seeds fingerprint_seeds() {
  return {bytes_of_tag({.collective = comm::Collective::kAllReduce, .op = comm::ReduceOp::kMean, .count = 1000}),
          bytes_of_tag({.collective = comm::Collective::kBroadcast, .root = 3, .count = 1}),
          bytes_of_tag({.collective = comm::Collective::kBarrier})};
}

}  // namespace lockstep::fuzz
