#pragma once
/// @file
/// Messages between the launchers of a job's hosts (its agents) and the hub that they meet at. docs/wire_format.md
/// describes the bytes.
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "net/frame_stream.hpp"

namespace lockstep::launch {

inline constexpr std::uint64_t kMaxAgentMessageBytes = std::uint64_t{1} << 20;

/// Agent: asks to join.
struct JoinMessage {
  std::string job;       ///< --rdzv-id.
  std::string role;      ///< --role.
  int min_nodes = 1;     ///< --nnodes.
  int max_nodes = 1;     ///< --nnodes.
  int max_restarts = 0;  ///< --max-restarts.
  int node_rank = -1;    ///< --node-rank; -1: the hub chooses.
  std::string host;
  int process = 0;            ///< Process number of the agent.
  std::string instance = {};  ///< Random; stays the same over all connections of the agent.
  int local_world_size = 1;   ///< Number of ranks it starts.
  int last_generation = -1;   ///< The last one it took part in; -1: none.
  bool operator==(const JoinMessage&) const = default;
};

/// Hub: the agent has joined, and waits for the next generation.
struct WelcomeMessage {
  std::string hub;  ///< The hub's host: "host a (node rank 0)".
  bool operator==(const WelcomeMessage&) const = default;
};

/// Hub: the agent cannot take part.
struct RefusalMessage {
  std::string reason;  ///< For people.
  bool operator==(const RefusalMessage&) const = default;
};

/// Both: heartbeat.
struct HeartbeatMessage {
  bool operator==(const HeartbeatMessage&) const = default;
};

/// Hub: a message for people.
struct NoticeMessage {
  std::string text;  ///< Without line end.
  bool operator==(const NoticeMessage&) const = default;
};

/// Hub: start the ranks of a generation.
struct StartMessage {
  int generation = 0;        ///< Counts from 0, including changes of membership.
  int restart_count = 0;     ///< Failures so far.
  std::string nonce;         ///< Of the hub's run; the ranks' token is derived from it and the job's token.
  int group_rank = 0;        ///< The agent's index in this generation.
  int group_world_size = 1;  ///< Agents in this generation.
  int first_rank = 0;        ///< First of the agent's ranks.
  int world_size = 1;        ///< Ranks of all hosts.
  std::string master_host;   ///< Group rank 0's host, as this agent reaches it.
  int store_port = 0;        ///< On master_host.
  int master_port = 0;       ///< On master_host; free for the ranks to use.
  bool operator==(const StartMessage&) const = default;
};

/// Hub: end the ranks of a generation.
struct EndMessage {
  int generation = 0;
  bool is_orderly = false;  ///< Not a failure: hosts come or go.
  std::string reason;       ///< For people.
  bool operator==(const EndMessage&) const = default;
};

/// Agent: a rank has failed.
struct FailureMessage {
  int generation = 0;
  int rank = 0;       ///< In the job.
  int exit_code = 1;  ///< 128 + signal, or the rank's own.
  std::string what;   ///< "exited with code 3".
  std::vector<std::string> last_lines;
  bool operator==(const FailureMessage&) const = default;
};

/// Instead of a signal: the launcher that started the agent has gone.
inline constexpr int kLauncherLost = 0;

/// Agent: leaves, because it was asked to end.
struct LeaveMessage {
  int signal = kLauncherLost;  ///< The signal that it received.
  bool operator==(const LeaveMessage&) const = default;
};

/// Agent: all of its ranks have ended.
struct EndedMessage {
  int generation = 0;
  int exit_code = 0;                    ///< 0: all succeeded.
  std::vector<std::string> last_lines;  ///< Of the rank that failed first here, if any.
  bool operator==(const EndedMessage&) const = default;
};

/// Hub: the job is over.
struct VerdictMessage {
  int exit_code = 0;
  std::string summary;                  ///< For people; empty on success.
  std::vector<std::string> last_lines;  ///< Of the rank that failed first.
  bool operator==(const VerdictMessage&) const = default;
};

/// One message. The index is the first byte on the wire; never reorder.
using AgentMessage = std::variant<HeartbeatMessage, JoinMessage, WelcomeMessage, RefusalMessage, NoticeMessage,
                                  StartMessage, EndMessage, FailureMessage, LeaveMessage, EndedMessage, VerdictMessage>;

[[nodiscard]] std::vector<std::byte> encode(const AgentMessage& message);
/// Reverses encode(). @throws FormatError  Not a valid message.
[[nodiscard]] AgentMessage decode_agent_message(std::span<const std::byte> bytes);
/// Queues a message. @throws IoError  As FrameStream::send().
void send_message(net::FrameStream& stream, const AgentMessage& message);

}  // namespace lockstep::launch
