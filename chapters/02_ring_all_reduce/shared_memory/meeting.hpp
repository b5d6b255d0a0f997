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
///
/// Slots come in pairs, used in turn. A rank that runs ahead writes the other one while slow ranks still read this one;
/// it cannot be two collectives ahead, because it waits for all slots of each. So one wait per collective is enough.
///
/// Thread safety: one thread.
class SharedMemoryMeeting {
 public:
  /// A rank's buffer where that is private memory.
  static constexpr std::int64_t kPrivate = -1;

  /// How far a rank is within a collective.
  enum class MeetingStep { kCopied = 0, kReduced = 1 };

  /// Collective. @param slot_bytes  What a slot holds beside the fingerprint: the elements of small buffers.
  /// @throws  As SharedMemory::grow().
  SharedMemoryMeeting(std::shared_ptr<comm::SharedMemory> memory, std::size_t slot_bytes, const Deadline& deadline);

  /// This rank's slot for the next collective, to be filled before arrive().
  [[nodiscard]] std::span<std::byte> next_slot() noexcept;

  /// Tells all ranks that this one has entered the collective `own`, and waits for them.
  /// @param offset  Of the rank's buffer in the shared file, or kPrivate.
  /// @throws MismatchError  A rank has entered another one: names both and what they do.
  /// @throws TimeoutError, PeerFailedError, IoError  As SharedMemory::all_gather().
  /// @post   slot() and offsets() are those of this collective, until the next arrive().
  void arrive(const comm::Fingerprint& own, std::int64_t offset, const Deadline& deadline);

  /// The elements in the slot of `rank`.
  [[nodiscard]] const std::byte* slot(int rank) const noexcept;
  /// Where the ranks' buffers are in the shared file, by rank.
  [[nodiscard]] const std::vector<std::int64_t>& offsets() const noexcept { return offsets_; }

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
  comm::SharedRegion region_;
  std::optional<comm::Waiter> waiter_;
  std::uint64_t meeting_ = 1;  // counts arrive() calls, the next one included: it tells which slot of a pair is in use
  std::uint64_t signalled_[2] = {0, 0};
  std::vector<std::int64_t> offsets_;
};

}  // namespace lockstep::ring
