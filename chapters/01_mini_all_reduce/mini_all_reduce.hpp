#pragma once
/// @file
/// The first all-reduce: one server sums the clients' values, once, and sends all of them the sum.
#include <chrono>
#include <cstdint>
#include <list>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/frame_stream.hpp"
#include "net/guarded_listener.hpp"

namespace lockstep::star {

/// The terms on which the server and its clients agree, and their timeout.
struct MiniOptions {
  net::SocketAddress address{"127.0.0.1", 29400};  ///< The server's; port 0 picks a free one.
  int world_size = 4;                              ///< Clients, numbered from 0.
  std::int64_t count = 3;                          ///< Values per client.
  std::chrono::milliseconds timeout{60'000};       ///< Limit for the whole sum.
};

/// Sums `count` floats from each of `world_size` clients, in the order of their ranks.
///
/// Withstands everything that breaks naive_server: a client must prove the job's token before its data is read
/// (net::GuardedListener), messages have a length and a checksum (net::FrameStream), the server waits for all clients
/// at once, and every wait has a limit. A client that dies, sends the wrong count or is surplus is reported and
/// dropped; another may take its rank. Thread safety: one thread.
class MiniServer {
 public:
  /// Starts to listen.
  /// @param transcript  Receives one line per event; must outlive the server.
  /// @throws IoError  The port is taken.
  MiniServer(const MiniOptions& options, std::ostream& transcript);

  /// The address it listens on, with the actual port.
  [[nodiscard]] const net::SocketAddress& address() const noexcept { return listener_.address(); }

  /// Computes one sum. @return  The sum, [count].
  /// @throws TimeoutError  Names the ranks whose values are missing.
  std::vector<float> run();

 private:
  struct Client {
    int rank;
    net::FrameStream stream;
    std::vector<float> values;  // empty until received
    bool has_contributed = false;
    bool is_gone = false;
  };

  void wait(const Deadline& deadline) const;
  void admit(net::AcceptedPeer peer);
  void report_strangers();
  void read(Client& client);
  void drop(Client& client, const std::string& reason);
  void send_to_all(std::span<const float> sum, const Deadline& deadline);
  [[nodiscard]] std::string missing_ranks() const;
  [[nodiscard]] bool is_complete() const;

  MiniOptions options_;
  std::ostream& transcript_;
  net::GuardedListener listener_;
  std::list<Client> clients_;
  std::uint64_t reported_strangers_ = 0;
};

/// Acts as one client: connects, proves the token, sends `values`, receives the sum.
/// @param transcript  Receives one line per event.
/// @return  The sum over all clients, [values.size()].
/// @throws TimeoutError  No server, or no sum in time.
/// @throws Error         The server refused this client; says why.
[[nodiscard]] std::vector<float> contribute(int rank, std::span<const float> values, const MiniOptions& options,
                                            std::ostream& transcript);

/// "[1, 2, 3]"; with more than four values, the first three and the last: "[1, 2, 3, ..., 9]".
[[nodiscard]] std::string to_text(std::span<const float> values);

}  // namespace lockstep::star
