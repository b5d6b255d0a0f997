#pragma once
/// @file
/// The ring all-reduce: the collective that trains the project's models.
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "comm/host_process_group.hpp"
#include "net/tcp_socket.hpp"

namespace lockstep::ring {

/// How a ring moves buffers; the defaults are right.
struct RingOptions {
  /// Chunks travel in segments of this many bytes: small enough to stay in the processor's cache between arriving and
  /// being added, large enough that a header of 64 bytes costs nothing beside it. Equal on all ranks.
  std::int64_t segment_bytes = 256 * 1024;
};

/// Each rank sends only to its right neighbour and receives only from its left one, so that every link is in use all
/// the time and none carries more than another.
///
/// Lifetime, thread safety and order of calls: as comm::ProcessGroup. Host memory only.
/// @cost    all_reduce: 2(P-1) steps; 2(P-1)/P of the buffer sent per rank, whatever P. broadcast: the buffer once
///          per rank, P-2 segments of delay. barrier: P-1 steps without payload.
/// @source  Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
///          J. Parallel Distrib. Comput. 69(2), 2009.
class RingProcessGroup final : public comm::HostProcessGroup {
 public:
  /// Connects to both neighbours.
  /// @throws TimeoutError, PeerFailedError  A neighbour does not come within context.limits.join; names it.
  explicit RingProcessGroup(comm::JobContext context, const RingOptions& options = {});
  ~RingProcessGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "ring"; }
  [[nodiscard]] Traffic traffic_sent() const override;

 private:
  void run_all_reduce(const Call& call) override;
  void run_broadcast(const Call& call) override;
  void run_barrier(const Call& call) override;
  void interrupt() noexcept override;

  void reduce_scatter(const Call& call);
  void all_gather(const Call& call);

  /// Part `index` of a chunk (or of any range): at most segment_bytes long, empty past the chunk's end.
  [[nodiscard]] Chunk segment_of(const Chunk& chunk, std::int64_t index, const Call& call) const;
  /// How many segments `count` elements make; at least one, so that empty buffers are checked against each other too.
  [[nodiscard]] std::int64_t segments_in(std::int64_t count, const Call& call) const;

  // In ring_transport.cpp:
  void send_right(const Call& call, std::span<const std::byte> bytes);
  void receive_left(const Call& call, std::span<std::byte> bytes);
  /// Both at once.
  void exchange(const Call& call, std::span<const std::byte> to_right, std::span<std::byte> from_left);
  [[nodiscard]] net::FrameLimits limits() const noexcept;
  void check_left(const Call& call, const net::FrameHeader& header) const;
  void count_sent(std::size_t payload_bytes) noexcept;

  RingOptions options_;
  net::TcpSocket right_;            // to rank + 1
  net::TcpSocket left_;             // from rank - 1
  std::vector<std::byte> arrived_;  // one segment, before it is added
  std::atomic<std::uint64_t> payload_bytes_sent_{0};
  std::atomic<std::uint64_t> messages_sent_{0};
};

/// @throws  As the constructor.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_ring_process_group(comm::JobContext context,
                                                                          const RingOptions& options = {});

}  // namespace lockstep::ring
