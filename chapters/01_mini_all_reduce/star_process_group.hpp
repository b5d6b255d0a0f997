#pragma once
/// @file
/// The first all-reduce as a process group: rank 0 is the centre of a star, and everything passes through it.
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "comm/host_process_group.hpp"
#include "net/tcp_socket.hpp"

namespace lockstep::star {

/// How a star moves buffers; the defaults are right.
struct StarOptions {
  /// Buffers travel in parts of this many bytes, so that the centre needs room for one part, not for a whole buffer.
  /// Equal on all ranks.
  std::int64_t segment_bytes = 256 * 1024;
};

/// Rank 0 receives the values of every other rank, reduces them in the order of the ranks, and sends the result back.
/// The centre moves P-1 times as many bytes as any other rank: that is what chapter 02 mends.
///
/// Lifetime, thread safety and order of calls: as comm::ProcessGroup. Host memory only.
/// @cost  all_reduce: the buffer once up and once down per rank; (P-1) times each way through rank 0.
class StarProcessGroup final : public comm::HostProcessGroup {
 public:
  /// Connects to rank 0; rank 0 waits for all others.
  /// @throws TimeoutError, PeerFailedError  A rank does not come within context.limits.join; names it.
  explicit StarProcessGroup(comm::JobContext context, const StarOptions& options = {});
  ~StarProcessGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "star"; }
  [[nodiscard]] Traffic traffic_sent() const override;

 private:
  void run_all_reduce(const Call& call) override;
  void run_broadcast(const Call& call) override;
  void run_barrier(const Call& call) override;
  void interrupt() noexcept override;

  void reduce_to_centre(const Call& call);
  void send_from_centre(const Call& call);

  /// The call's values as parts of at most segment_bytes; one empty part where there are none, so that empty buffers
  /// are checked against each other too.
  [[nodiscard]] std::vector<std::span<std::byte>> segments_of(const Call& call) const;

  [[nodiscard]] bool is_centre() const noexcept { return rank() == 0; }
  void send(const Call& call, int peer, std::span<const std::byte> bytes);
  void receive(const Call& call, int peer, std::span<std::byte> bytes);

  StarOptions options_;
  std::map<int, net::TcpSocket> sockets_;  // at the centre by rank, in their order; elsewhere only {0, ...}
  std::vector<std::byte> arrived_;         // at the centre: one segment, before it is reduced
  std::atomic<std::uint64_t> payload_bytes_sent_{0};
  std::atomic<std::uint64_t> messages_sent_{0};
};

/// @throws  As the constructor.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_star_process_group(comm::JobContext context,
                                                                          const StarOptions& options = {});

}  // namespace lockstep::star
