#pragma once
/// @file
/// Plays attacks on a server: the server as a child process, clients and strangers on bare sockets, and one transcript
/// of everything that happens.
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
  kNaive,    ///< naive_server: bare values from anyone who connects.
  kChecked,  ///< server: frames, after a proof of the job's token.
};

/// The setup of a harness.
struct StageOptions {
  ServerKind kind = ServerKind::kNaive;
  std::int64_t count = 3;
  std::chrono::milliseconds server_timeout{10'000};  ///< Passed to `server`; naive_server has no timeout.
};

/// The end of a play, according to the clients and the server's output.
struct Outcome {
  std::string expected;                 ///< The right sum: "[10, 20, 30]".
  std::string sum;                      ///< The sum that the server reports; empty if it reports none.
  bool has_server_ended = false;        ///< Within the time limit.
  std::string servers_error;            ///< Its last output, if its exit code was not 0.
  std::map<int, std::string> refusals;  ///< By client: the server's reason.
  std::vector<int> without_answer;      ///< Clients that got neither a sum nor a reason, by number.
};

/// Starts a server for kWorldSize clients on a free port; the server never outlives this object, because it runs under
/// the project's reaper process, as ranks do. Thread safety: one thread; send_bytes() also from others.
class AttackHarness {
 public:
  static constexpr int kWorldSize = 4;
  static constexpr std::chrono::milliseconds kPatience{15'000};  ///< Limit for each expected event.

  /// @param transcript  Receives one line per event; must outlive the harness.
  /// @throws IoError, TimeoutError  The server cannot be started.
  AttackHarness(const StageOptions& options, std::ostream& transcript);

  [[nodiscard]] bool is_checked() const noexcept { return options_.kind == ServerKind::kChecked; }

  /// Connects client `rank`, with a proof of the token if this server wants one, and waits until the server reports it.
  void join(int rank);
  /// Client `rank` sends [1, 2, 3, ...] x (rank + 1); waits until the server reports that it has them.
  void contribute(int rank);
  /// The message that contribute() would send, if it had `count` values.
  [[nodiscard]] std::vector<std::byte> message_of(int rank, std::int64_t count) const;
  /// Sends part of a message without waiting for anything.
  void send_bytes(int rank, std::span<const std::byte> bytes);
  /// Client `rank` closes its connection.
  void leave(int rank);

  /// Connects someone who knows the port and nothing else.
  [[nodiscard]] net::StreamSocket stranger();

  /// Adds a line to the transcript.
  void say(std::string_view who, std::string_view what);
  /// Waits for a server line with `text`, after those matched before. @return  False if it ended or kPatience passed.
  bool hear(std::string_view text);

  /// Waits until the server has a sum or has ended, then reads every client's answer.
  /// @param patience  Time limit for the server.
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
  std::vector<std::string> lines_;  // the server's output
  std::size_t heard_ = 0;           // lines that hear() has consumed
  std::optional<int> exit_code_;
  launch::OutputMerger merger_;
  std::unique_ptr<launch::ReaperProcess> server_;
  net::SocketAddress address_;
  std::map<int, net::StreamSocket> clients_;
  int connections_ = 0;  // made so far, including strangers'
};

}  // namespace lockstep::star
