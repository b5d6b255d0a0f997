#pragma once
/// @file
/// The process group of ranks on one host: collectives in memory that all of them can read and write.
#include <cstddef>
#include <memory>

#include "02_ring_all_reduce/shared_memory/meeting.hpp"
#include "02_ring_all_reduce/shared_memory/pull_collectives.hpp"
#include "02_ring_all_reduce/shared_memory_all_reduce.hpp"
#include "comm/host/host_process_group.hpp"
#include "comm/registered_memory.hpp"

namespace lockstep::ring {

/// The ranks of one host need no ring: each reads the others' elements in place. Calls with one destination (send and
/// recv, gather, scatter, all_to_all) go through queues in the same memory.
///
/// Lifetime, thread safety and order of calls: as comm::ProcessGroup. Host memory only.
/// @cost  See SharedMemoryAllReduce and PullCollectives; traffic_sent() counts only the queues.
class SharedMemoryProcessGroup final : public comm::HostProcessGroup {
 public:
  /// Sets up the shared memory of all ranks.
  /// @throws UnavailableError  The ranks cannot share memory, thrown on all of them; says why.
  /// @throws TimeoutError, PeerFailedError  A rank does not arrive within context.limits.join; names it.
  explicit SharedMemoryProcessGroup(comm::JobContext context);
  /// Uses `memory`, which the ranks of the group share.
  SharedMemoryProcessGroup(comm::JobContext context, std::shared_ptr<comm::SharedMemory> memory);
  ~SharedMemoryProcessGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "shared_memory"; }

  /// Collective: a block of host memory that all collectives, except those with one destination, use in place.
  [[nodiscard]] std::shared_ptr<Storage> allocate(std::size_t bytes, Device device) override;

 private:
  void run_all_reduce(const Call& call) override;
  void run_broadcast(const Call& call) override;
  void run_reduce(const Call& call) override;
  void run_all_gather(const Call& call) override;
  void run_reduce_scatter(const Call& call) override;
  void run_barrier(const Call& call) override;
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override;

  void use(std::shared_ptr<comm::SharedMemory> memory);

  // All null in a group of one rank.
  std::unique_ptr<comm::RegisteredMemory> registered_;
  std::unique_ptr<SharedMemoryMeeting> meeting_;
  std::unique_ptr<SharedMemoryAllReduce> all_reduce_;  // also for reduce and barrier
  std::unique_ptr<PullCollectives> pull_;
};

/// @throws  As the constructor.
[[nodiscard]] std::unique_ptr<comm::ProcessGroup> make_shared_memory_process_group(comm::JobContext context);

}  // namespace lockstep::ring
