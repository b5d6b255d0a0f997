#pragma once
/// @file
/// Reduce-scatter, all-gather and broadcast between the ranks of one host without messages.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "02_ring_all_reduce/shared_memory/meeting.hpp"
#include "02_ring_all_reduce/shared_memory/small_buffers.hpp"
#include "comm/buffer.hpp"
#include "comm/registered_memory.hpp"

namespace lockstep::ring {

/// Collectives in which each rank pulls the data it needs: it reads a piece of the others' inputs at a time and writes
/// only to its own output. They choose among three algorithms, like SharedMemoryAllReduce, by the size and memory of
/// the inputs; the memory of the outputs does not matter.
///
/// Thread safety: one thread at a time; SharedMemory::interrupt() from any.
class PullCollectives {
 public:
  /// @param meeting     The ranks' meeting for all their collectives; must outlive this object, like `registered`.
  /// @param registered  Buffers that need no copying.
  /// @param small       Limits for which `meeting` has slots.
  PullCollectives(SharedMemoryMeeting& meeting, const comm::RegisteredMemory& registered,
                  const SmallBufferLimits& small);

  /// Rank r's `output` [count] becomes part r of the all-reduce of `input` [P * count], bit for bit.
  /// @param output       May be this rank's part of `input`; must not overlap it otherwise.
  /// @param input        Otherwise unchanged.
  /// @param fingerprint  Of the call, compared between ranks; its op is applied.
  /// @throws MismatchError  Ranks are in different collectives. @throws TimeoutError  Names a rank that did not arrive.
  /// @throws PeerFailedError, IoError  A rank died, or interrupt() was called.
  /// @cost   Registered: 2 waits; reads 1/P of all P inputs. Private: a wait per segment of `input`, and (P-1)/P of it
  ///         copied through the cache. Small: 1 wait.
  void reduce_scatter(const comm::Buffer& output, const comm::Buffer& input, const comm::Fingerprint& fingerprint,
                      const Deadline& deadline);

  /// Every rank's `output` [P * count] becomes the inputs of all, by rank.
  /// @param input        [count]; may be this rank's part of `output`; must not overlap it otherwise.
  /// @param fingerprint  Of the call. @throws  As reduce_scatter().
  /// @cost   Registered: 2 waits; the output is written once. Private: a wait per segment, and the input copied through
  ///         the cache. Small: 1 wait.
  void all_gather(const comm::Buffer& output, const comm::Buffer& input, const comm::Fingerprint& fingerprint,
                  const Deadline& deadline);

  /// Every rank's `values` become those of rank `root`.
  /// @param fingerprint  Of the call. @throws  As reduce_scatter().
  /// @cost   Registered on the root: 2 waits. Private: a wait per segment, and a copy through the cache. Small: 1 wait.
  void broadcast(const comm::Buffer& values, int root, const comm::Fingerprint& fingerprint, const Deadline& deadline);

 private:
  struct Call {
    const comm::Buffer& input;
    const comm::Fingerprint& fingerprint;
    const Deadline& deadline;
  };
  /// The parts of the inputs to read.
  struct Parts {
    int count = 1;              ///< Parts per input.
    int read = 0;               ///< Index of the part that this rank reads.
    std::int64_t elements = 0;  ///< Per part.
    std::optional<int> from{};  ///< The only rank whose input is read; unset: all ranks'.
  };
  [[nodiscard]] static bool is_read(const Parts& parts, int rank) noexcept {
    return !parts.from || *parts.from == rank;
  }
  /// Makes pieces of the inputs readable for this rank, and calls `read` for each, with sources_ set.
  void read_inputs(const Call& call, const Parts& parts, const std::function<void(Chunk)>& read);
  void read_staged(const Call& call, const Parts& parts, const std::function<void(Chunk)>& read);

  SharedMemoryMeeting& meeting_;
  const comm::RegisteredMemory& registered_;
  int rank_;
  int world_size_;
  std::size_t small_bytes_;
  std::vector<const void*> sources_;  // by rank, for the piece being read
  std::vector<void*> destinations_;
};

}  // namespace lockstep::ring
