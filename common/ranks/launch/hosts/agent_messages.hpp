#pragma once
/// @file
/// What the launchers of a job's hosts (its agents) say to the one that the others meet at. docs/wire_format.md
/// describes the bytes.
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "net/frame_stream.hpp"

namespace lockstep::launch {

/// Longest message.
inline constexpr std::uint64_t kMaxAgentMessageBytes = std::uint64_t{1} << 20;

/// Agent: it wants to take part.
struct JoinMessage {
  std::string job;            ///< --rdzv-id.
  std::string role;           ///< --role.
  int min_nodes = 1;          ///< --nnodes.
  int max_nodes = 1;          ///< --nnodes.
  int max_restarts = 0;       ///< --max-restarts.
  int node_rank = -1;         ///< --node-rank; -1: the hub chooses.
  std::string host;           ///< Name of the host.
  int process = 0;            ///< Process number of the agent.
  std::string instance = {};  ///< Random, the same as long as the agent lives, over all its connections.
  int local_world_size = 1;   ///< Ranks that it starts.
  int last_generation = -1;   ///< That it took part in; -1: none.
  bool operator==(const JoinMessage&) const = default;
};

/// Hub: the agent is in, and waits for the next generation.
struct WelcomeMessage {
  std::string hub;  ///< Who the hub is: "host a (node rank 0)".
  bool operator==(const WelcomeMessage&) const = default;
};

/// Hub: the agent cannot take part.
struct RefusalMessage {
  std::string reason;  ///< For people.
  bool operator==(const RefusalMessage&) const = default;
};

/// Both: sign of life.
struct HeartbeatMessage {
  bool operator==(const HeartbeatMessage&) const = default;
};

/// Hub: a line for people.
struct NoticeMessage {
  std::string text;  ///< Without an end of line.
  bool operator==(const NoticeMessage&) const = default;
};

/// Hub: start the ranks of a generation.
struct StartMessage {
  int generation = 0;        ///< Counts from 0, also over changes of membership.
  int restart_count = 0;     ///< Failures so far.
  std::string nonce;         ///< Of the hub's run; with the job's token it makes that of the ranks.
  int group_rank = 0;        ///< The agent's number among those of this generation.
  int group_world_size = 1;  ///< How many those are.
  int first_rank = 0;        ///< Of the agent's ranks.
  int world_size = 1;        ///< Ranks of all.
  std::string master_host;   ///< Of group rank 0, as this agent reaches it.
  int store_port = 0;        ///< There.
  int master_port = 0;       ///< There: free, for what the ranks want to use it for.
  bool operator==(const StartMessage&) const = default;
};

/// Hub: end the ranks of a generation.
struct EndMessage {
  int generation = 0;       ///< Which.
  bool is_orderly = false;  ///< Not for a failure: hosts come or go.
  std::string reason;       ///< For people.
  bool operator==(const EndMessage&) const = default;
};

/// Agent: a rank has failed.
struct FailureMessage {
  int generation = 0;                   ///< In which.
  int rank = 0;                         ///< Which, of the job.
  int exit_code = 1;                    ///< 128 + signal, or its own.
  std::string what;                     ///< "exited with code 3".
  std::vector<std::string> last_lines;  ///< Of its output.
  bool operator==(const FailureMessage&) const = default;
};

/// In place of a signal: nobody has asked the agent to end, but the launcher that had started it has gone.
inline constexpr int kLauncherLost = 0;

/// Agent: it has been asked to end, and takes part no longer.
struct LeaveMessage {
  int signal = kLauncherLost;  ///< By which.
  bool operator==(const LeaveMessage&) const = default;
};

/// Agent: all of its ranks have ended.
struct EndedMessage {
  int generation = 0;                   ///< In which.
  int exit_code = 0;                    ///< 0: all of them well.
  std::vector<std::string> last_lines;  ///< Of the rank that failed first here, if any.
  bool operator==(const EndedMessage&) const = default;
};

/// Hub: the job is over.
struct VerdictMessage {
  int exit_code = 0;                    ///< The job's.
  std::string summary;                  ///< For people; empty: it ended well.
  std::vector<std::string> last_lines;  ///< Of the rank that failed first.
  bool operator==(const VerdictMessage&) const = default;
};

/// One message. The index is the first byte on the wire; never reorder.
using AgentMessage = std::variant<HeartbeatMessage, JoinMessage, WelcomeMessage, RefusalMessage, NoticeMessage,
                                  StartMessage, EndMessage, FailureMessage, LeaveMessage, EndedMessage, VerdictMessage>;

/// The message as bytes.
[[nodiscard]] std::vector<std::byte> encode(const AgentMessage& message);
/// The message that encode() made. @throws FormatError  Anything else.
[[nodiscard]] AgentMessage decode_agent_message(std::span<const std::byte> bytes);
/// Queues a message. @throws IoError  As FrameStream::send().
void send_message(net::FrameStream& stream, const AgentMessage& message);

}  // namespace lockstep::launch
