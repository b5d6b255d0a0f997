#pragma once
/// @file
/// All-reduce and reduce between the ranks of one host without messages: every rank reads the others' elements where
/// they are.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "02_ring_all_reduce/shared_memory/meeting.hpp"
#include "02_ring_all_reduce/shared_memory/small_buffers.hpp"
#include "comm/buffer.hpp"
#include "comm/registered_memory.hpp"

namespace lockstep::ring {

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
  /// @param meeting     Where the ranks meet for all their collectives; must outlive this object, as `registered`.
  /// @param registered  Which buffers need no copying.
  /// @param small       Up to which size buffers go through the meeting's slots, which have that many bytes.
  SharedMemoryAllReduce(SharedMemoryMeeting& meeting, const comm::RegisteredMemory& registered,
                        const SmallBufferLimits& small);

  /// Replaces `values` on every rank by the reduction over all ranks; of a reduce, on its root only.
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

    /// Whether `rank` gets what is reduced.
    [[nodiscard]] bool is_for(int rank) const noexcept {
      return fingerprint.collective != comm::Collective::kReduce || fingerprint.root == rank;
    }
  };

  void reduce_slots(const Call& call);
  void reduce_in_place(const Call& call);
  /// Whether segment 0 was copied before the ranks met. It was not where private ranks took their small buffers for
  /// the slots' and registered ranks did not: a rare mixture, which pays one wait more.
  enum class FirstSegment { kCopied, kMissing };
  void reduce_segments(const Call& call, FirstSegment first);

  [[nodiscard]] Chunk segment_of(const Call& call, std::int64_t index) const;
  void copy_in(const Call& call, std::int64_t index);
  void reduce_segment(const Call& call, std::int64_t index);
  void copy_out(const Call& call, std::int64_t index);
  /// Where the results of segment `index` are staged: beside what the ranks stage.
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
