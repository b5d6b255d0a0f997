#pragma once
// Messages between the members and the hub of the control plane, as in docs/wire_format.md. Internal to this module.
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

// A running send or recv; operation.root is the peer (rank in the group).
struct PairStatus {
  Fingerprint operation;
  std::chrono::milliseconds running_for{0};
};

// One direction of the messages between this rank and a peer (rank in the group): kSend or kRecv.
using PairEnd = std::pair<Collective, int>;

// How many ended collectives a rank remembers: a rank that only sends (to the root of a gather, say) is soon done and
// goes on, while ranks that called a different collective still wait.
constexpr std::size_t kKeptCollectives = 8;

// One rank's status in one group.
struct GroupStatus {
  std::optional<Fingerprint> issued;   // the last collective its caller issued
  std::optional<Fingerprint> running;  // the one in progress
  std::vector<Fingerprint> ended;      // the last ended ones, at most kKeptCollectives, in any order
  std::chrono::milliseconds running_for{0};
  std::vector<PairStatus> pairs;           // sends and recvs in progress
  std::map<PairEnd, std::uint64_t> begun;  // how many sends or recvs have begun
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
  kPosted = 9,     // member: calls it has issued; hub: calls that all ranks of the group have issued identically
  kForget = 10,    // member: it has destroyed a group; status: its last status there, if any
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

// The matching operation at the peer's end; `rank` is this rank in the group.
[[nodiscard]] Fingerprint other_end_of(const Fingerprint& operation, int rank);

// Whether a rank with this status has begun this send or recv.
[[nodiscard]] bool has_begun(const GroupStatus& status, const Fingerprint& operation);

// "all_reduce #5 (sum of 4 float32), waits for rank 2 in recv #0 (...)"; or the call entered last. rank_of(group, peer)
// maps a group's rank to the job's rank.
[[nodiscard]] std::string describe_status(const RankStatus& status, const std::function<int(int, int)>& rank_of);

void send_control(net::FrameStream& stream, const JobContext& context, const ControlMessage& message);

// Interval of the control plane threads' checks and heartbeats.
[[nodiscard]] std::chrono::milliseconds tick_of(const JobLimits& limits);
[[nodiscard]] std::chrono::milliseconds heartbeat_of(const JobLimits& limits);

}  // namespace lockstep::comm
