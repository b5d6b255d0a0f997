#pragma once
/// @file
/// How the ranks of one host meet before and during a collective through shared memory: each announces its collective,
/// its memory and its progress.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "comm/fingerprint.hpp"
#include "comm/shared_memory/shared_memory.hpp"

namespace lockstep::ring {

/// Size of a cache line: data written by different ranks is on different lines.
inline constexpr std::int64_t kLineBytes = 64;

/// Every rank has a slot, in which it announces the collective it has entered, and two counters for its progress. A
/// rank writes only its own and reads the others': no lock, no queue, no message. Elements of small buffers go into the
/// slot, those of larger buffers in private memory through segments.
///
/// Slots come in pairs, used in turn. A rank that is ahead writes the other one while slow ranks still read this one;
/// it cannot be two collectives ahead, because it waits for all slots of each. So one wait per collective is enough.
/// Segments come in pairs too; the user must not overwrite one that others still read.
///
/// Thread safety: one thread.
class SharedMemoryMeeting {
 public:
  /// A multiple of kLineBytes; two segments of each rank fit into the cache.
  static constexpr std::int64_t kSegmentBytes = 512 * 1024;

  /// A rank's progress within a collective.
  enum class MeetingStep { kCopied = 0, kReduced = 1 };

  /// Collective. @param slot_bytes  Room in a slot for the elements of small buffers, besides the fingerprint.
  /// @throws  As SharedMemory::grow().
  SharedMemoryMeeting(std::shared_ptr<comm::SharedMemory> memory, std::size_t slot_bytes, const Deadline& deadline);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int world_size() const noexcept { return world_size_; }

  /// This rank's slot for the next collective, to be filled before arrive().
  /// @throws IoError  SharedMemory::interrupt() was called.
  [[nodiscard]] std::span<std::byte> next_slot();

  /// Tells all ranks that this one has entered the collective `own`, and waits for them.
  /// @param offset  Of this rank's buffer in the shared file; nullopt: the buffer is private memory.
  /// @param bytes   Size of the buffer, the same on all ranks.
  /// @throws MismatchError  A rank has entered a different one: names both ranks and their collectives.
  /// @throws TimeoutError, PeerFailedError, IoError  As SharedMemory::all_gather().
  /// @post   slot() and buffers() are those of this collective, until the next arrive().
  void arrive(const comm::Fingerprint& own, std::optional<std::uint64_t> offset, std::size_t bytes,
              const Deadline& deadline);

  /// The elements in the slot of `rank`.
  [[nodiscard]] const std::byte* slot(int rank) const noexcept;
  /// Addresses of the ranks' buffers in this process, by rank; null for private memory.
  [[nodiscard]] const std::vector<std::byte*>& buffers() const noexcept { return buffers_; }
  /// The segment in which `rank` stages segment `index` of its buffer; for rank P, the one for results.
  [[nodiscard]] std::byte* segment(int rank, std::int64_t index) const noexcept;

  /// Tells all ranks that this one has completed a step.
  void signal(MeetingStep step) noexcept;
  /// Waits until all ranks have signalled as often as this one. @throws  As arrive().
  void wait_for_all(MeetingStep step, const Deadline& deadline);

 private:
  struct Slot;
  struct Member;

  [[nodiscard]] Member& member(int rank) const noexcept;
  [[nodiscard]] Slot& slot_of(int rank) const noexcept;
  [[nodiscard]] std::byte* elements_of(int rank) const noexcept;
  void ring_all() noexcept;
  void check_same(const comm::Fingerprint& own, int peer) const;
  [[noreturn]] void give_up(int peer, const Deadline& deadline) const;

  std::shared_ptr<comm::SharedMemory> memory_;
  int rank_;
  int world_size_;
  std::size_t slot_bytes_;
  comm::SharedRegion region_;  // announcements of each rank, and the slots
  comm::SharedRegion segments_;
  std::optional<comm::Waiter> waiter_;
  std::uint64_t meeting_ = 1;  // counts arrive() calls, including the next one; selects the slot of a pair
  std::uint64_t signalled_[2] = {0, 0};
  std::vector<std::byte*> buffers_;
};

}  // namespace lockstep::ring
