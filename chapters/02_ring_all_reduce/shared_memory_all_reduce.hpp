#pragma once
/// @file
/// All-reduce between the ranks of one host without messages: every rank reads the others' elements where they are.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "02_ring_all_reduce/shared_memory_meeting.hpp"
#include "comm/buffer.hpp"
#include "comm/registered_memory.hpp"

namespace lockstep::ring {

/// Up to which size a buffer goes through the slots, by world size.
struct SmallBufferLimit {
  int world_size = 0;     ///< Up to this many ranks.
  std::size_t bytes = 0;  ///< Largest buffer that is exchanged in one step.
};

/// What a measurement or a test changes; the defaults are right. Equal on all ranks.
struct SharedMemoryAllReduceOptions {
  std::optional<std::size_t> small_bytes;  ///< Instead of the measured limit of small buffers.
};

/// Three ways, chosen by size and by where the buffers are; all add in the order of the ranks, so they give the same
/// bits, on every rank and in every run.
///
/// - Small buffers, in one step: each rank writes its elements into its slot, waits for all, and reduces all slots. P
///   times the arithmetic, but one wait.
/// - Registered memory, in two: rank r reduces chunk r of all buffers where they are and writes the result to all.
/// - Private memory, a segment at a time: each rank copies its elements to where the others can read them; rank r
///   reduces chunk r of the segment; each rank copies the results of the others back. Two segments are under way, so
///   that nobody waits for the slowest twice.
///
/// Ranks with registered and ranks with private memory may meet: that is the third way without the copies of the
/// former. Thread safety: one thread at a time; SharedMemory::interrupt() from any.
class SharedMemoryAllReduce {
 public:
  /// Adds slots and segments to the shared file. Collective.
  /// @param registered  Which buffers need no copying; must outlive this object.
  /// @throws  As SharedMemory::grow().
  SharedMemoryAllReduce(std::shared_ptr<comm::SharedMemory> memory, const comm::RegisteredMemory& registered,
                        const Deadline& deadline, const SharedMemoryAllReduceOptions& options = {});

  /// Replaces `values` on every rank by the reduction over all ranks.
  /// @param fingerprint  Of the call: what ranks compare; its op is the one applied.
  /// @throws MismatchError  Ranks are in different collectives. @throws TimeoutError  Names a rank that did not come.
  /// @throws PeerFailedError, IoError  A rank died, or interrupt() was called.
  /// @cost   Registered: 2 waits; reads and writes 1/P of all P buffers. Private: 2 waits per segment, and 2(P-1)/P of
  ///         the buffer copied through the cache. Small: 1 wait, P reads of the buffer.
  void run(const comm::Buffer& values, const comm::Fingerprint& fingerprint, const Deadline& deadline);

 private:
  struct Call {
    const comm::Buffer& values;
    const comm::Fingerprint& fingerprint;
    const Deadline& deadline;
  };

  void reduce_slots(const Call& call);
  void reduce_in_place(const Call& call);
  void reduce_segments(const Call& call);

  [[nodiscard]] Chunk segment_of(const Call& call, std::int64_t index) const;
  void copy_in(const Call& call, std::int64_t index);
  void reduce_segment(const Call& call, std::int64_t index);
  void copy_out(const Call& call, std::int64_t index);
  [[nodiscard]] std::byte* staged(int rank, std::int64_t index) const noexcept;
  [[nodiscard]] std::byte* result(std::int64_t index) const noexcept { return staged(world_size_, index); }

  std::shared_ptr<comm::SharedMemory> memory_;
  const comm::RegisteredMemory& registered_;
  int rank_;
  int world_size_;
  std::size_t small_bytes_;
  SharedMemoryMeeting meeting_;
  comm::SharedRegion segments_;
  std::vector<std::byte*> shared_buffers_;  // by rank: where this process has it; null for private memory
  std::vector<const void*> sources_;        // by rank, of the running reduction
  std::vector<void*> destinations_;
};

}  // namespace lockstep::ring
