#pragma once
/// @file
/// All-reduce and reduce between the ranks of one host without messages: every rank reads the others' elements in
/// place.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "02_ring_all_reduce/shared_memory/meeting.hpp"
#include "02_ring_all_reduce/shared_memory/small_buffers.hpp"
#include "comm/buffer.hpp"
#include "comm/registered_memory.hpp"

namespace lockstep::ring {

/// Three algorithms, chosen by size and kind of memory; all add in rank order, so they give the same bits on every rank
/// and in every run.
///
/// - Small buffers, in one step: each rank writes its elements into its slot, waits for all, and reduces all slots. P
///   times the arithmetic, but only one wait.
/// - Registered memory, in two steps: rank r reduces chunk r of all buffers in place and writes the result to all.
/// - Private memory, a segment at a time: each rank copies its elements to shared memory; rank r reduces chunk r of the
///   segment; each rank copies the results of the others back. Two segments are in flight, so that no rank waits twice
///   for the slowest one.
///
/// If some ranks have registered and some private memory, they use the third algorithm, in which the former skip the
/// copies. Thread safety: one thread at a time; SharedMemory::interrupt() from any.
class SharedMemoryAllReduce {
 public:
  /// @param meeting     The ranks' meeting for all their collectives; must outlive this object, like `registered`.
  /// @param registered  Buffers that need no copying.
  /// @param small       The largest buffers that go through the meeting's slots, and so the size of the slots.
  SharedMemoryAllReduce(SharedMemoryMeeting& meeting, const comm::RegisteredMemory& registered,
                        const SmallBufferLimits& small);

  /// Replaces `values` on every rank by the reduction over all ranks; for a reduce, on its root only.
  /// @param fingerprint  Of the call; compared between ranks. Its `op` is the reduction.
  /// @throws MismatchError  Ranks are in different collectives. @throws TimeoutError  Names a rank that did not arrive.
  /// @throws PeerFailedError, IoError  A rank died, or interrupt() was called.
  /// @cost   Registered: 2 waits; reads and writes 1/P of all P buffers. Private: 2 waits per segment, and 2(P-1)/P of
  ///         the buffer copied through the cache. Small: 1 wait, P reads of the buffer.
  void run(const comm::Buffer& values, const comm::Fingerprint& fingerprint, const Deadline& deadline);

 private:
  struct Call {
    const comm::Buffer& values;
    const comm::Fingerprint& fingerprint;
    const Deadline& deadline;

    /// True if `rank` gets the result.
    [[nodiscard]] bool is_for(int rank) const noexcept {
      return fingerprint.collective != comm::Collective::kReduce || fingerprint.root == rank;
    }
  };

  void reduce_slots(const Call& call);
  void reduce_in_place(const Call& call);
  /// Tells whether segment 0 was copied before the ranks met. It was not if ranks with private memory used the slots
  /// for a small buffer and ranks with registered memory did not. That mixture is rare, and costs one more wait.
  enum class FirstSegment { kCopied, kMissing };
  void reduce_segments(const Call& call, FirstSegment first);

  [[nodiscard]] Chunk segment_of(const Call& call, std::int64_t index) const;
  void copy_in(const Call& call, std::int64_t index);
  void reduce_segment(const Call& call, std::int64_t index);
  void copy_out(const Call& call, std::int64_t index);
  /// Staging area for the results of segment `index`, after those of the ranks.
  [[nodiscard]] std::byte* result(std::int64_t index) const noexcept { return meeting_.segment(world_size_, index); }

  SharedMemoryMeeting& meeting_;
  const comm::RegisteredMemory& registered_;
  int rank_;
  int world_size_;
  SmallBufferLimits small_;
  std::vector<const void*> sources_;  // by rank, of the running reduction
  std::vector<void*> destinations_;
};

}  // namespace lockstep::ring
