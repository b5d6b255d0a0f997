#pragma once
/// @file
/// The Store over TCP: one server in the job (in the launcher, or in rank 0), one client per rank.
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "net/address.hpp"
#include "net/stream_socket.hpp"
#include "store/store.hpp"

namespace lockstep::store {

/// Serves one job's keys on a separate thread, from construction to destruction. The port is bound when the constructor
/// returns, so the address can be published without a race. Serves only clients that prove the token and have the same
/// generation; no client can block another.
class TcpStoreServer {
 public:
  /// @param address  By default loopback and a free port.
  /// @param token       The job's secret.
  /// @param generation  Restart count; clients of other generations are refused.
  /// @throws IoError  The port is in use.
  explicit TcpStoreServer(const net::SocketAddress& address, std::string token, int generation = 0);
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  /// The bound address, with the actual port.
  [[nodiscard]] net::SocketAddress address() const;

  /// Waits until every client has closed its connection, or `deadline`. A server inside rank 0 calls this before it
  /// ends, so that slower ranks are not cut off.
  void wait_until_unused(const Deadline& deadline);

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

/// One rank's connection to a TcpStoreServer. A server whose process is stopped costs a call its time, not the
/// connection: get() ends soon after its deadline, and the others after 15 s, with a TimeoutError.
class TcpStore final : public Store {
 public:
  /// @param rank  For messages of the server and this client; -1 for a process that is not a rank.
  /// @throws TimeoutError, FormatError, Error  See net::connect_authenticated().
  TcpStore(const net::SocketAddress& address, const std::string& token, int generation, int rank,
           const Deadline& deadline);

  void set(const std::string& key, const std::string& value) override;
  [[nodiscard]] std::string get(const std::string& key, const Deadline& deadline) override;
  [[nodiscard]] std::optional<std::string> try_get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool erase(const std::string& key) override;

  /// This host's address on the server's network; this rank's own listeners bind to it.
  [[nodiscard]] net::SocketAddress local_address() const { return socket_.local_address(); }
  /// The server's address as this host reaches it; nothing if the connection is already gone.
  [[nodiscard]] std::optional<net::SocketAddress> server_address() const { return socket_.remote_address(); }

 private:
  struct Answer;
  // Nothing if no reply has begun to arrive by `deadline`; a later call skips it.
  std::optional<Answer> try_call(const struct Request& request, const Deadline& deadline);
  // For a request that depends on no other rank.
  Answer call(const Request& request);
  [[noreturn]] void fail_silent(const std::string& key, const Deadline& deadline) const;

  std::mutex mutex_;
  net::StreamSocket socket_;
  std::uint32_t generation_;
  int rank_;
  std::uint64_t next_request_ = 0;
  bool is_broken_ = false;  // a message was cut off, so the rest of the stream makes no sense
};

}  // namespace lockstep::store
