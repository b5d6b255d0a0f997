#pragma once
/// @file
/// The ring all-reduce: the collective that trains the project's models.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "02_ring_all_reduce/shared_memory_all_reduce.hpp"
#include "comm/host/host_process_group.hpp"
#include "comm/registered_memory.hpp"

namespace lockstep::ring {

/// What messages travel through.
enum class TransportChoice {
  kAuto,          ///< Shared memory where all ranks run on one host, else TCP; LOCKSTEP_TRANSPORT may say otherwise.
  kTcp,           ///< LOCKSTEP_TRANSPORT=tcp
  kSharedMemory,  ///< LOCKSTEP_TRANSPORT=shared_memory; an error where the ranks have none.
};

/// How all_reduce chooses among its ways.
enum class AlgorithmChoice {
  kAuto,  ///< In shared memory without messages; over TCP up to small_bytes at rank 0; else round the ring.
  kRing,  ///< Round the ring, however small the buffer, whatever the transport.
};

/// How a ring moves buffers; the defaults are right. Rank 0's options hold for all ranks: it publishes them, because
/// ranks that chose differently would wait for messages that never come.
struct RingOptions {
  /// Chunks travel in segments of this many bytes.
  std::int64_t segment_bytes = 256 * 1024;
  /// Over TCP, buffers of at most this many bytes are reduced at rank 0: 2 messages one after the other, not 2(P-1).
  std::int64_t small_bytes = 32 * 1024;
  TransportChoice transport = TransportChoice::kAuto;  ///< What messages travel through.
  AlgorithmChoice algorithm = AlgorithmChoice::kAuto;  ///< Of all_reduce.
};

/// Nothing but the ring: every buffer goes round, over TCP, as the lesson's first part has it.
inline constexpr RingOptions kPlainRing{.transport = TransportChoice::kTcp, .algorithm = AlgorithmChoice::kRing};

/// Each rank sends only to its right neighbour and receives only from its left one, so that every link is in use all
/// the time and none carries more than another.
///
/// Lifetime, thread safety and order of calls: as comm::ProcessGroup. Host memory only.
/// @cost    all_reduce: 2(P-1) steps; 2(P-1)/P of the buffer sent per rank, whatever P. all_gather, reduce_scatter:
///          P-1 steps, half of that. broadcast, reduce: the buffer once per rank, P-2 segments of delay. Up to
///          small_bytes, and in barrier(): 2 messages one after the other, P-1 of each at rank 0. In shared memory
///          all_reduce, all_gather and reduce_scatter send nothing: see SharedMemoryAllReduce.
/// @source  Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
///          J. Parallel Distrib. Comput. 69(2), 2009.
class RingProcessGroup : public comm::HostProcessGroup {
 public:
  /// Finds the common memory, or connects to both neighbours.
  /// @throws TimeoutError, PeerFailedError  A rank does not come within context.limits.join; names it.
  /// @throws UnavailableError  kSharedMemory, and the ranks have none; says why.
  explicit RingProcessGroup(comm::JobContext context, const RingOptions& options = {});
  ~RingProcessGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "ring"; }

  /// Collective: in shared memory, a block that all_reduce, all_gather and reduce_scatter work on
  /// where it is.
  [[nodiscard]] std::shared_ptr<Storage> allocate(std::size_t bytes, Device device) override;

 protected:
  /// Blocks until done; for a class that reduces in another way.
  void run_all_reduce(const Call& call) override;

 private:
  void run_broadcast(const Call& call) override;
  void run_reduce(const Call& call) override;
  void run_all_gather(const Call& call) override;
  void run_reduce_scatter(const Call& call) override;
  void run_barrier(const Call& call) override;
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override;

  void reduce_scatter(const Call& call);
  void all_gather(const Call& call);
  void reduce_at_rank_zero(const Call& call);

  /// The bytes of chunk `index` of the call's values.
  [[nodiscard]] std::span<std::byte> chunk(const Call& call, int index) const;
  /// own[i] = own[i] op what has arrived[i].
  void add(const Call& call, std::span<std::byte> own, std::span<const std::byte> theirs) const;
  void divide_if_mean(const Call& call, std::span<std::byte> values) const;
  [[nodiscard]] int right() const noexcept { return next_of(rank(), world_size()); }
  [[nodiscard]] int left() const noexcept { return previous_of(rank(), world_size()); }

  void use_tcp(const std::string& group);
  /// @return  Why there is none; empty where it is in use now.
  std::string use_shared_memory(const std::string& group);

  RingOptions options_;
  std::unique_ptr<comm::RegisteredMemory> registered_;  // null over TCP
  std::unique_ptr<SharedMemoryAllReduce> shared_;       // null over TCP, and where only the ring is wanted
};

/// @throws  As the constructor.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_ring_process_group(comm::JobContext context,
                                                                          const RingOptions& options = {});

}  // namespace lockstep::ring
