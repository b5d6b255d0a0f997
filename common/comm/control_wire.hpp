#pragma once
// What members and hub of the control plane say to each other; not for others. docs/wire_format.md describes it.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/control_plane.hpp"
#include "comm/fingerprint.hpp"
#include "net/frame_stream.hpp"

namespace lockstep::comm {

// Where one rank is in one group.
struct GroupStatus {
  Fingerprint issued;                  // the last collective its caller issued
  std::optional<Fingerprint> running;  // the one that runs
  std::chrono::milliseconds running_for{0};
};

// By group id.
using RankStatus = std::map<int, GroupStatus>;

// Values appear on the wire; never renumber.
enum class ControlType : std::uint8_t {
  kStatus = 1,     // member: heartbeat with status, also the answer to kQuery
  kGoodbye = 2,    // member: finished; hub: rank 0 has finished
  kAbort = 3,      // member: the job has failed
  kReady = 4,      // hub: all ranks are connected
  kHeartbeat = 5,  // hub
  kQuery = 6,      // hub: send a status now
  kFailure = 7,    // hub: the job has failed
};

struct ControlMessage {
  ControlType type = ControlType::kHeartbeat;
  RankStatus status;  // kStatus, kGoodbye
  Failure failure;    // kAbort, kFailure
};

constexpr std::uint64_t kMaxControlBytes = 64 * 1024;

[[nodiscard]] std::vector<std::byte> encode(const ControlMessage& message);
// Throws FormatError for anything that encode() does not make.
[[nodiscard]] ControlMessage decode_control(std::span<const std::byte> bytes);

void send_control(net::FrameStream& stream, const JobContext& context, const ControlMessage& message);

// How often the threads of the control plane look around, and how often they send a sign of life.
[[nodiscard]] std::chrono::milliseconds tick_of(const JobLimits& limits);
[[nodiscard]] std::chrono::milliseconds heartbeat_of(const JobLimits& limits);

}  // namespace lockstep::comm
