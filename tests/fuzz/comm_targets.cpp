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

void run_control_wire(Input input) {
  try {
    const comm::ControlMessage message = comm::decode_control(input);
    finding_unless(std::ranges::equal(comm::encode(message), input), "a control message reads as what it is not");
    const auto rank_of = [](int, int rank) { return rank; };
    finding_unless(!comm::describe_status(message.status, rank_of).empty(), "a status without words");
  } catch (const FormatError&) {
  }
}

Seeds control_wire_seeds() {
  using comm::ControlType;
  comm::ControlMessage status{.type = ControlType::kStatus, .status = {}, .failure = {}};
  const comm::Fingerprint operation{.sequence = 8, .collective = comm::Collective::kBroadcast, .root = 4, .count = 10};
  status.status[2].issued = operation;
  status.status[2].running = operation;
  status.status[2].running_for = std::chrono::milliseconds(1234);
  status.status[5].pairs = {{comm::Direction::kReceive, operation, std::chrono::milliseconds(7)}};
  status.status[5].begun = {{{comm::Direction::kSend, 1}, 3}, {{comm::Direction::kReceive, 0}, 9}};
  const comm::ControlMessage abort{
      .type = ControlType::kAbort, .status = status.status, .failure = {comm::FailureKind::kTimeout, 3, "why"}};
  const comm::ControlMessage group{
      .type = ControlType::kGroup, .status = {}, .failure = {}, .group = 4, .members = {3, 1}};
  return {comm::encode(status), comm::encode(abort), comm::encode(group), comm::encode(comm::ControlMessage{})};
}

}  // namespace lockstep::fuzz
