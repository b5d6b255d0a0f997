#pragma once
/// @file
/// The first all-reduce: one server sums what the clients send, once, and sends the sum to all of them.
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

/// What server and clients must agree on, and how long they wait.
struct MiniOptions {
  net::SocketAddress address{"127.0.0.1", 29400};  ///< Of the server; port 0 for a free one.
  int world_size = 4;                              ///< Clients, numbered from 0.
  std::int64_t count = 3;                          ///< Values that each client sends.
  std::chrono::milliseconds timeout{60'000};       ///< For the whole sum.
};

/// Sums `count` floats from each of `world_size` clients, in the order of their ranks.
///
/// What breaks naive_server does not break this one: a client must prove the job's token before anything it sends is
/// read (net::GuardedListener), messages have a length and a checksum (net::FrameStream), nobody is waited for alone,
/// and every wait ends. A client that dies, sends the wrong count or is surplus is reported and dropped; another may
/// take its rank. Thread safety: one thread.
class MiniServer {
 public:
  /// Listens from here on.
  /// @param transcript  Receives one line per event; must outlive the server.
  /// @throws IoError  The port is taken.
  MiniServer(const MiniOptions& options, std::ostream& transcript);

  /// Where it listens, with the real port.
  [[nodiscard]] const net::SocketAddress& address() const noexcept { return listener_.address(); }

  /// Serves one sum. @return  The sum, [count].
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

/// One client's part: connects, proves the token, sends `values`, receives the sum.
/// @param transcript  Receives one line per event.
/// @return  The sum over all clients, [values.size()].
/// @throws TimeoutError  No server, or no sum in time.
/// @throws Error         The server refused; says why.
[[nodiscard]] std::vector<float> contribute(int rank, std::span<const float> values, const MiniOptions& options,
                                            std::ostream& transcript);

/// "[1, 2, 3]"; of more than four values the first three and the last: "[1, 2, 3, ..., 9]".
[[nodiscard]] std::string to_text(std::span<const float> values);

}  // namespace lockstep::star
