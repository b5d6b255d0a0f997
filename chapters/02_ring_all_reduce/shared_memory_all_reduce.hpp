#pragma once
/// @file
/// All-reduce, its two halves, reduce and broadcast between the ranks of one host without messages: every rank reads
/// the others' elements where they are.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "02_ring_all_reduce/shared_memory/meeting.hpp"
#include "comm/buffer.hpp"
#include "comm/registered_memory.hpp"

namespace lockstep::ring {

/// Up to which size buffers go through the slots.
struct SmallBufferLimits {
  std::size_t private_bytes = 0;     ///< Where all ranks have private memory.
  std::size_t registered_bytes = 0;  ///< Where any has registered memory: no more than private_bytes.
};

/// The limits for up to `world_size` ranks.
struct SmallBufferRow {
  int world_size = 0;        ///< The last row serves any more.
  SmallBufferLimits limits;  ///< In bytes of the whole buffer.
};

/// Where the ways cross on a machine of two cores (AMD EPYC 9005 in a virtual machine; shared_memory_bench, float32
/// sum). Microseconds through the slots / in segments / in place:
///            2 KiB                4 KiB                16 KiB               32 KiB
///   2 ranks  0.29 / 0.40 / 0.27   0.39 / 0.43 / 0.28   1.1 / 0.80 / 0.40    2.4 / 1.5 / 0.52
///   4 ranks  2.9 / 5.5 / 5.1      3.3 / 5.8 / 5.5      5.0 / 6.9 / 5.6      7.2 / 8.3 / 6.3
///   8 ranks  7.7 / 13 / 14        9.2 / 14 / 14        14 / 16 / 15         20 / 20 / 16
inline constexpr std::array<SmallBufferRow, 3> kSmallBufferRows{
    {{2, {4 << 10, 1 << 10}}, {4, {32 << 10, 16 << 10}}, {8, {16 << 10, 16 << 10}}}};

/// What a measurement or a test changes; the defaults are right. Equal on all ranks.
struct SharedMemoryAllReduceOptions {
  std::optional<SmallBufferLimits> small;  ///< Instead of the row of kSmallBufferRows.
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
/// former. reduce_scatter() and all_gather() choose in the same way, by their inputs; where the outputs are does not
/// matter. Thread safety: one thread at a time; SharedMemory::interrupt() from any.
class SharedMemoryAllReduce {
 public:
  /// Adds slots and segments to the shared file. Collective.
  /// @param registered  Which buffers need no copying; must outlive this object.
  /// @throws  As SharedMemory::grow().
  SharedMemoryAllReduce(std::shared_ptr<comm::SharedMemory> memory, const comm::RegisteredMemory& registered,
                        const Deadline& deadline, const SharedMemoryAllReduceOptions& options = {});

  /// Replaces `values` on every rank by the reduction over all ranks; of a reduce, on its root only.
  /// @param fingerprint  Of the call: what ranks compare; its op is the one applied.
  /// @throws MismatchError  Ranks are in different collectives. @throws TimeoutError  Names a rank that did not come.
  /// @throws PeerFailedError, IoError  A rank died, or interrupt() was called.
  /// @cost   Registered: 2 waits; reads and writes 1/P of all P buffers. Private: 2 waits per segment, and 2(P-1)/P of
  ///         the buffer copied through the cache. Small: 1 wait, P reads of the buffer.
  void run(const comm::Buffer& values, const comm::Fingerprint& fingerprint, const Deadline& deadline);

  /// Rank r's `output` [count] becomes part r of what run() would make of `input` [P * count], bit for bit.
  /// @param output       May be this rank's part of `input`, else apart from it.
  /// @param input        Unchanged but for that.
  /// @param fingerprint  As for run(). @throws  As run().
  /// @cost   Registered: 2 waits; reads 1/P of all P inputs. Private: a wait per segment of `input`, and (P-1)/P of it
  ///         copied through the cache. Small: 1 wait.
  void reduce_scatter(const comm::Buffer& output, const comm::Buffer& input, const comm::Fingerprint& fingerprint,
                      const Deadline& deadline);

  /// Every rank's `output` [P * count] becomes the inputs of all, by rank.
  /// @param input        [count]; may be this rank's part of `output`, else apart from it.
  /// @param fingerprint  As for run(). @throws  As run().
  /// @cost   Registered: 2 waits; the output is written once. Private: a wait per segment, and the input copied through
  ///         the cache. Small: 1 wait.
  void all_gather(const comm::Buffer& output, const comm::Buffer& input, const comm::Fingerprint& fingerprint,
                  const Deadline& deadline);

  /// Every rank's `values` become those of rank `root`.
  /// @param fingerprint  As for run(). @throws  As run().
  /// @cost   Registered on the root: 2 waits. Private: a wait per segment, and a copy through the cache. Small: 1 wait.
  void broadcast(const comm::Buffer& values, int root, const comm::Fingerprint& fingerprint, const Deadline& deadline);

 private:
  static constexpr std::int64_t kSegmentBytes = 512 * 1024;  // a multiple of lines; two of each rank fit the cache

  struct Call {
    const comm::Buffer& values;
    const comm::Fingerprint& fingerprint;
    const Deadline& deadline;

    /// Whether `rank` gets what is reduced.
    [[nodiscard]] bool is_for(int rank) const noexcept {
      return fingerprint.collective != comm::Collective::kReduce || fingerprint.root == rank;
    }
  };

  void meet(const Call& call, std::int64_t offset);
  void reduce_slots(const Call& call);
  void reduce_in_place(const Call& call);
  /// Whether segment 0 was copied before the ranks met. It was not where private ranks took their small buffers for
  /// the slots' and registered ranks did not: a rare mixture, which pays one wait more.
  enum class FirstSegment { kCopied, kMissing };
  void reduce_segments(const Call& call, FirstSegment first);

  /// What is read of the inputs.
  struct Parts {
    int count = 1;              ///< How many an input has.
    int read = 0;               ///< The one of which this rank reads.
    std::int64_t elements = 0;  ///< Of each.
    std::optional<int> from{};  ///< The rank whose input alone is read; else those of all.
  };
  [[nodiscard]] bool is_read(const Parts& parts, int rank) const noexcept { return !parts.from || *parts.from == rank; }
  /// Brings pieces of the inputs to where this rank can read them, and calls `read` for each, with sources_ set.
  void read_inputs(const Call& call, const Parts& parts, const std::function<void(Chunk)>& read);
  void read_staged(const Call& call, const Parts& parts, const std::function<void(Chunk)>& read);

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
  SmallBufferLimits small_;
  SharedMemoryMeeting meeting_;
  comm::SharedRegion segments_;
  std::vector<std::byte*> shared_buffers_;  // by rank: where this process has it; null for private memory
  std::vector<const void*> sources_;        // by rank, of the running reduction
  std::vector<void*> destinations_;
};

}  // namespace lockstep::ring
