#pragma once
/// @file
/// The ring all-reduce: the collective that trains the project's models on several hosts.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "02_ring_all_reduce/ring_collectives.hpp"
#include "02_ring_all_reduce/ring_schedule.hpp"
#include "comm/host/host_process_group.hpp"

namespace lockstep::ring {

/// How a ring moves buffers; the defaults suit most uses. Rank 0's options apply to all ranks: it publishes them,
/// because ranks with different options would wait for messages that never come.
struct RingOptions {
  /// Chunks travel in segments of this many bytes.
  std::int64_t segment_bytes = 256 * 1024;
  /// Buffers of at most this many bytes are reduced at rank 0: 2 messages in sequence, not 2(P-1). 0: every buffer goes
  /// around the ring.
  std::int64_t small_bytes = 32 * 1024;
};

/// Each rank sends only to its right neighbour and receives only from its left one, so that every link is always in use
/// and all carry the same load.
///
/// Lifetime, thread safety and order of calls: as comm::ProcessGroup. Host memory only.
/// @cost    all_reduce: 2(P-1) steps; 2(P-1)/P of the buffer sent per rank. all_gather, reduce_scatter:
///          P-1 steps, half of that. broadcast, reduce: the buffer once per rank, P-2 segments of delay. Up to
///          small_bytes, and in barrier(): 2 messages in sequence, P-1 of each at rank 0.
/// @source  Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
///          J. Parallel Distrib. Comput. 69(2), 2009.
class RingProcessGroup : public comm::HostProcessGroup {
 public:
  /// Connects to both neighbours.
  /// @throws TimeoutError, PeerFailedError  A rank does not arrive within context.limits.join; names it.
  explicit RingProcessGroup(comm::JobContext context, const RingOptions& options = {});
  ~RingProcessGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "ring"; }

 protected:
  /// Virtual for classes that reduce differently. Blocks until done.
  void run_all_reduce(const Call& call) override;

 private:
  void run_broadcast(const Call& call) override { others_->broadcast(call); }
  void run_reduce(const Call& call) override { others_->reduce(call); }
  void run_all_gather(const Call& call) override { others_->all_gather(call); }
  void run_reduce_scatter(const Call& call) override { others_->reduce_scatter(call); }
  void run_barrier(const Call& call) override;
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override;

  void reduce_scatter(const Call& call);
  void all_gather(const Call& call);
  void reduce_at_rank_zero(const Call& call);

  /// The bytes of chunk `index` of the call's values.
  [[nodiscard]] std::span<std::byte> chunk(const Call& call, int index) const;
  [[nodiscard]] int right() const noexcept { return next_of(rank(), world_size()); }
  [[nodiscard]] int left() const noexcept { return previous_of(rank(), world_size()); }

  RingOptions options_;
  std::optional<RingCollectives> others_;  // collectives other than all-reduce
};

/// @throws  As the constructor.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_ring_process_group(comm::JobContext context,
                                                                          const RingOptions& options = {});

}  // namespace lockstep::ring
