#pragma once
// What members and hub of the control plane say to each other; not for others. docs/wire_format.md describes it.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/control/control_plane.hpp"
#include "comm/fingerprint.hpp"
#include "net/frame_stream.hpp"

namespace lockstep::comm {

// A send or recv that runs; operation.root is the peer (rank in the group).
struct PairStatus {
  Fingerprint operation;
  std::chrono::milliseconds running_for{0};
};

// One direction of the messages between this rank and a peer (rank in the group): kSend or kRecv.
using PairEnd = std::pair<Collective, int>;

// How many collectives that have ended a rank remembers: one that only sends (to the root of a gather, say) is soon
// done with it and goes on, while ranks that called something else still wait.
constexpr std::size_t kKeptCollectives = 8;

// Where one rank is in one group.
struct GroupStatus {
  std::optional<Fingerprint> issued;   // the last collective its caller issued
  std::optional<Fingerprint> running;  // the one that runs
  std::vector<Fingerprint> ended;      // the last ones that have ended, at most kKeptCollectives, in any order
  std::chrono::milliseconds running_for{0};
  std::vector<PairStatus> pairs;           // what runs between two ranks
  std::map<PairEnd, std::uint64_t> begun;  // how many of them have begun
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
  kGroup = 8,      // member: the members of a group
  kPosted = 9,     // member: calls that it has issued; hub: calls that all ranks of the group have issued alike
  kForget = 10,    // member: it has destroyed a group; status: the last of that group, or nothing
};

struct ControlMessage {
  ControlType type = ControlType::kHeartbeat;
  RankStatus status;                    // kStatus, kGoodbye, kForget
  Failure failure;                      // kAbort, kFailure
  int group = 0;                        // kGroup, kPosted, kForget
  std::vector<int> members = {};        // kGroup
  std::vector<Fingerprint> calls = {};  // kPosted, in order of issue
};

constexpr std::uint64_t kMaxControlBytes = std::uint64_t{1} << 20;

[[nodiscard]] std::vector<std::byte> encode(const ControlMessage& message);
// Throws FormatError for anything that encode() does not make.
[[nodiscard]] ControlMessage decode_control(std::span<const std::byte> bytes);

// What the peer of `operation` does at its end, with this rank (in the group), to meet it.
[[nodiscard]] Fingerprint other_end_of(const Fingerprint& operation, int rank);

// Whether a rank with this status has begun this send or recv.
[[nodiscard]] bool has_begun(const GroupStatus& status, const Fingerprint& operation);

// "all_reduce #5 (sum of 4 float32), waits for rank 2 in recv #0 (...)"; or what was entered last.
// rank_of(group, peer) is the rank of the job of a group's rank.
[[nodiscard]] std::string describe_status(const RankStatus& status, const std::function<int(int, int)>& rank_of);

void send_control(net::FrameStream& stream, const JobContext& context, const ControlMessage& message);

// How often the threads of the control plane look around, and how often they send a sign of life.
[[nodiscard]] std::chrono::milliseconds tick_of(const JobLimits& limits);
[[nodiscard]] std::chrono::milliseconds heartbeat_of(const JobLimits& limits);

}  // namespace lockstep::comm
