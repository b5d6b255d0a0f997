#pragma once
/// @file
/// A group's messages over TCP: one connection per pair of ranks, made when the pair first needs it.
#include <poll.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "comm/job_context.hpp"
#include "comm/transport.hpp"
#include "net/guarded_listener.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::comm {

/// Every rank of the group listens and publishes its address in the store; in a pair, the lower rank connects. Every
/// connection proves the job's token, the rank and the group before anything else is read.
///
/// A rank that waits for one connection keeps answering ranks that connect to it. So no order of calls can make ranks
/// wait for each other's handshakes in a cycle: the highest waiting rank always answers.
class TcpTransport final : public Transport {
 public:
  /// Listens, and connects to `peers`.
  ///
  /// @param context   The group's rank, world size, token, limits, store and control plane.
  /// @param group     Name of the group, unique in the job and generation: "ring/0".
  /// @param peers     Ranks to connect to now (they name this rank in theirs); others are connected on first use.
  /// @param deadline  For connecting to `peers`.
  /// @throws TimeoutError     Names the ranks that are not connected by `deadline`.
  /// @throws PeerFailedError  A rank died or gave up meanwhile; names it.
  TcpTransport(const JobContext& context, const std::string& group, const std::set<int>& peers,
               const Deadline& deadline);

  [[nodiscard]] std::string_view name() const noexcept override { return "tcp"; }
  void send(int peer, const net::FrameHeader& header, std::span<const std::byte> bytes,
            const Deadline& deadline) override;
  void receive(int peer, const net::FrameHeader& expected, std::span<std::byte> bytes,
               const Deadline& deadline) override;
  void flush(const Deadline& deadline, std::size_t most_queued = 0) override;
  void interrupt() noexcept override;
  [[nodiscard]] Traffic sent() const noexcept override;

 private:
  struct Outgoing {
    net::EncodedHeader header;
    std::span<const std::byte> payload;
    std::size_t sent = 0;  // of header and payload together
  };
  // One rank at the other end. Messages from `first_unsent` on have not been sent; the vector keeps its memory.
  struct Peer {
    net::StreamSocket socket;
    std::vector<Outgoing> queue;
    std::size_t first_unsent = 0;
    [[nodiscard]] bool has_queued() const noexcept { return first_unsent < queue.size(); }
  };

  Peer& connected(int peer, const Deadline& deadline);
  void connect_to(int peer, const Deadline& deadline);
  void accept_until_connected(int peer, const Deadline& deadline);
  void accept_waiting();
  void adopt(int peer, net::StreamSocket socket);

  [[nodiscard]] net::EncodedHeader sealed(int peer, const net::FrameHeader& header, std::span<const std::byte> bytes);
  bool send_queued(int peer);  // whether anything moved
  bool send_all_queued();
  void check_header(int peer, const net::EncodedHeader& encoded, const net::FrameHeader& expected,
                    std::size_t payload_bytes) const;
  // Waiting while the rank can neither send nor receive: polls briefly, then sleeps until a socket is ready. Returns
  // false at the deadline.
  class Idling;
  // How long a wait polls: as long as only the ranks of this job need the processors.
  class Spinning {
   public:
    explicit Spinning(int ranks_on_host);
    std::chrono::nanoseconds time_to_spin() noexcept;  // for the wait that begins
    bool offer_processor() noexcept;  // between two polls; false if another process needs it for longer

   private:
    bool shares_processors_;
    std::chrono::nanoseconds limit_;
    int sleeps_ = 0;       // waits that skip polling after another process last took a long turn
    int sleeps_left_ = 0;  // of these, how many remain
  };
  bool sleep_until_ready(int receiving_from, const Deadline& deadline);
  void throw_if_failed(const std::string& task) const;
  [[noreturn]] void throw_broken(int peer, const std::string& what) const;
  [[nodiscard]] std::string name_of(int peer) const;

  const JobContext context_;  // without flight recorder; store and control plane are shared
  std::string address_prefix_;
  net::Identity identity_;
  std::unique_ptr<net::GuardedListener> listener_;
  std::vector<Peer> peers_;  // by rank; this rank's own stays empty
  std::size_t unconnected_;  // peers without a connection yet
  Spinning spinning_;
  std::size_t queued_ = 0;            // messages, of all peers
  std::vector<pollfd> poll_entries_;  // keeps its memory
  std::mutex sockets_mutex_;          // held to open or shut down a socket
  std::atomic<bool> is_interrupted_{false};
  std::atomic<std::uint64_t> payload_bytes_sent_{0};
  std::atomic<std::uint64_t> messages_sent_{0};
};

}  // namespace lockstep::comm
