#pragma once
/// @file
/// Where attacks on a server are played: the server as a child process, clients and strangers on bare sockets, and one
/// transcript of what all of them do.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "launch/local/output_merger.hpp"
#include "launch/local/reaper_process.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::star {

/// Which of the chapter's two servers.
enum class ServerKind {
  kNaive,    ///< naive_server: bare values, whoever connects.
  kChecked,  ///< server: frames, after a proof of the job's token.
};

/// What a harness is set up with.
struct StageOptions {
  ServerKind kind = ServerKind::kNaive;              ///< The server to attack.
  std::int64_t count = 3;                            ///< Values of each client.
  std::chrono::milliseconds server_timeout{10'000};  ///< What `server` is told; naive_server knows no such thing.
};

/// How a play ended, as the clients and the server's own words tell it.
struct Outcome {
  std::string expected;                 ///< The right sum: "[10, 20, 30]".
  std::string sum;                      ///< What the server calls the sum; empty: it has said nothing.
  bool has_server_ended = false;        ///< In time.
  std::string servers_error;            ///< Its last words, where it ended with another exit code than 0.
  std::map<int, std::string> refusals;  ///< By client: what the server told it.
  std::vector<int> without_answer;      ///< Clients that got neither sum nor word, by number.
};

/// Starts a server of kWorldSize clients on a free port and ends it with itself, whatever happens: below the project's
/// reaper process, as ranks are. Thread safety: one thread; send_bytes() also from others.
class AttackHarness {
 public:
  static constexpr int kWorldSize = 4;                           ///< Clients of the server.
  static constexpr std::chrono::milliseconds kPatience{15'000};  ///< For whatever must happen.

  /// @param transcript  Gets a line per event; must outlive the harness.
  /// @throws IoError, TimeoutError  The server cannot be started.
  AttackHarness(const StageOptions& options, std::ostream& transcript);

  /// Whether the server under attack is the checked one.
  [[nodiscard]] bool is_checked() const noexcept { return options_.kind == ServerKind::kChecked; }

  /// Client `rank` connects as this server wants it (with a proof of the token, or just so), and the server says so.
  void join(int rank);
  /// Client `rank` sends [1, 2, 3, ...] x (rank + 1), and the server says that it has them.
  void contribute(int rank);
  /// The message that contribute() would send, if it had `count` values.
  [[nodiscard]] std::vector<std::byte> message_of(int rank, std::int64_t count) const;
  /// Sends a part of a message without waiting for anything.
  void send_bytes(int rank, std::span<const std::byte> bytes);
  /// Client `rank` closes its connection.
  void leave(int rank);

  /// Somebody who knows the port and nothing else.
  [[nodiscard]] net::StreamSocket stranger();

  /// Adds a line to the transcript.
  void say(std::string_view who, std::string_view what);
  /// Waits for a line of the server, later than those waited for before. @return  False: it ended, or kPatience passed.
  bool hear(std::string_view text);

  /// Waits until the server has a sum or ends, then reads every client's answer.
  /// @param patience  For the server.
  [[nodiscard]] Outcome finish(std::chrono::milliseconds patience = kPatience);

 private:
  void pump(const Deadline& deadline);
  void take_output(launch::OutputStream stream);
  bool wait_until(const std::function<bool()>& condition, const Deadline& deadline);
  void wait_for_end(const Deadline& deadline);
  void receive_answer(int rank, Outcome& outcome);
  [[nodiscard]] std::string answer_of(net::StreamSocket& socket, Outcome& outcome, int rank) const;
  [[nodiscard]] bool has_said(std::string_view text) const;

  StageOptions options_;
  std::ostream& transcript_;
  std::string token_;
  std::vector<std::string> lines_;  // of the server
  std::size_t heard_ = 0;           // lines that hear() has been through
  std::optional<int> exit_code_;
  launch::OutputMerger merger_;
  std::unique_ptr<launch::ReaperProcess> server_;
  net::SocketAddress address_;
  std::map<int, net::StreamSocket> clients_;
  int connections_ = 0;  // made so far, strangers' included
};

}  // namespace lockstep::star
