#pragma once
/// @file
/// Where the ranks of one host meet before and during a collective through shared memory: who is here, in which
/// collective, with which memory, and how far.
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

/// What processors exchange as one, in bytes: whatever two ranks write lies on different lines.
inline constexpr std::int64_t kLineBytes = 64;

/// Every rank has a slot, in which it says which collective it has entered, and two counters, with which it says how
/// far it is. A rank writes only what is its own, and reads what is the others': no lock, no queue, no message.
/// Elements of small buffers go into the slot, those of larger ones in private memory through segments.
///
/// Slots come in pairs, used in turn. A rank that runs ahead writes the other one while slow ranks still read this one;
/// it cannot be two collectives ahead, because it waits for all slots of each. So one wait per collective is enough.
/// Segments come in pairs too; whoever uses them sees to it that nobody reads what is overwritten.
///
/// Thread safety: one thread.
class SharedMemoryMeeting {
 public:
  /// Of one segment: a multiple of lines; two of each rank fit the cache.
  static constexpr std::int64_t kSegmentBytes = 512 * 1024;

  /// How far a rank is within a collective.
  enum class MeetingStep { kCopied = 0, kReduced = 1 };

  /// Collective. @param slot_bytes  What a slot holds beside the fingerprint: the elements of small buffers.
  /// @throws  As SharedMemory::grow().
  SharedMemoryMeeting(std::shared_ptr<comm::SharedMemory> memory, std::size_t slot_bytes, const Deadline& deadline);

  [[nodiscard]] int rank() const noexcept { return rank_; }              ///< Of this process.
  [[nodiscard]] int world_size() const noexcept { return world_size_; }  ///< How many ranks meet.

  /// This rank's slot for the next collective, to be filled before arrive().
  /// @throws IoError  SharedMemory::interrupt() was called.
  [[nodiscard]] std::span<std::byte> next_slot();

  /// Tells all ranks that this one has entered the collective `own`, and waits for them.
  /// @param offset  Of this rank's buffer in the shared file; nothing: the buffer is private memory.
  /// @param bytes   Of the buffer, as on all ranks.
  /// @throws MismatchError  A rank has entered another one: names both and what they do.
  /// @throws TimeoutError, PeerFailedError, IoError  As SharedMemory::all_gather().
  /// @post   slot() and buffers() are those of this collective, until the next arrive().
  void arrive(const comm::Fingerprint& own, std::optional<std::uint64_t> offset, std::size_t bytes,
              const Deadline& deadline);

  /// The elements in the slot of `rank`.
  [[nodiscard]] const std::byte* slot(int rank) const noexcept;
  /// Where this process has the ranks' buffers, by rank; null for private memory.
  [[nodiscard]] const std::vector<std::byte*>& buffers() const noexcept { return buffers_; }
  /// The segment in which `rank` stages segment `index` of its buffer; of rank P, where results are staged.
  [[nodiscard]] std::byte* segment(int rank, std::int64_t index) const noexcept;

  /// Tells all ranks that this one is one step further.
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
  comm::SharedRegion region_;  // what each rank says, and the slots
  comm::SharedRegion segments_;
  std::optional<comm::Waiter> waiter_;
  std::uint64_t meeting_ = 1;  // counts arrive() calls, the next one included: it tells which slot of a pair is in use
  std::uint64_t signalled_[2] = {0, 0};
  std::vector<std::byte*> buffers_;
};

}  // namespace lockstep::ring
