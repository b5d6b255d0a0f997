#include "02_ring_all_reduce/shared_memory/meeting.hpp"

#include <array>
#include <atomic>

#include "base/error.hpp"
#include "base/round_up.hpp"
#include "comm/transport.hpp"

namespace lockstep::ring {
namespace {

constexpr std::int64_t kPrivate = -1;  // instead of an offset, if the buffer is not registered

}  // namespace

// A rank's announcement when it enters a collective. `meeting` is written last and read first.
struct alignas(kLineBytes) SharedMemoryMeeting::Slot {
  std::atomic<std::uint64_t> meeting;
  std::uint64_t sequence;
  net::FrameTag tag;
  std::int64_t offset;
};

// The data that one rank writes and the others read, except the elements in its slots, which follow the members.
struct SharedMemoryMeeting::Member {
  struct alignas(kLineBytes) Counter {
    std::atomic<std::uint64_t> value;
  };
  comm::Doorbell doorbell;
  std::array<Slot, 2> slots;
  std::array<Counter, 2> counters;
};

SharedMemoryMeeting::SharedMemoryMeeting(std::shared_ptr<comm::SharedMemory> memory, std::size_t slot_bytes,
                                         const Deadline& deadline)
    : memory_(std::move(memory)),
      rank_(memory_->rank()),
      world_size_(memory_->world_size()),
      slot_bytes_(round_up(slot_bytes, static_cast<std::size_t>(kLineBytes))),
      buffers_(static_cast<std::size_t>(world_size_)) {
  region_ = memory_->grow(buffers_.size() * (sizeof(Member) + 2 * slot_bytes_), deadline);
  segments_ = memory_->grow(2 * (buffers_.size() + 1) * kSegmentBytes, deadline);  // + 1: of results
  waiter_.emplace(memory_->make_waiter(member(rank_).doorbell));
}

SharedMemoryMeeting::Member& SharedMemoryMeeting::member(int rank) const noexcept {
  return reinterpret_cast<Member*>(region_.data)[rank];
}

SharedMemoryMeeting::Slot& SharedMemoryMeeting::slot_of(int rank) const noexcept {
  return member(rank).slots[meeting_ % 2];
}

std::byte* SharedMemoryMeeting::elements_of(int rank) const noexcept {
  const std::size_t place = static_cast<std::size_t>(rank) * 2 + meeting_ % 2;
  return region_.data + static_cast<std::size_t>(world_size_) * sizeof(Member) + place * slot_bytes_;
}

std::span<std::byte> SharedMemoryMeeting::next_slot() {
  memory_->check_not_interrupted();
  ++meeting_;
  return {elements_of(rank_), slot_bytes_};
}

const std::byte* SharedMemoryMeeting::slot(int rank) const noexcept { return elements_of(rank); }

std::byte* SharedMemoryMeeting::segment(int rank, std::int64_t index) const noexcept {
  return segments_.data + static_cast<std::size_t>(rank * 2 + index % 2) * kSegmentBytes;
}

void SharedMemoryMeeting::arrive(const comm::Fingerprint& own, std::optional<std::uint64_t> offset, std::size_t bytes,
                                 const Deadline& deadline) {
  Slot& slot = slot_of(rank_);
  slot.sequence = own.sequence;
  slot.tag = to_tag(own);
  slot.offset = offset ? static_cast<std::int64_t>(*offset) : kPrivate;
  slot.meeting.store(meeting_, std::memory_order_seq_cst);
  ring_all();
  for (int peer = 0; peer < world_size_; ++peer) {
    const Slot& theirs = slot_of(peer);
    const auto is_here = [&] { return theirs.meeting.load(std::memory_order_seq_cst) == meeting_; };
    if (!memory_->wait_for(peer, *waiter_, is_here, deadline)) give_up(peer, deadline);
  }
  for (int peer = 0; peer < world_size_; ++peer) check_same(own, peer);
  for (int peer = 0; peer < world_size_; ++peer) {
    const std::int64_t theirs = slot_of(peer).offset;
    std::byte*& buffer = buffers_[static_cast<std::size_t>(peer)];
    buffer = theirs == kPrivate ? nullptr : memory_->at(static_cast<std::uint64_t>(theirs), bytes);
  }
}

void SharedMemoryMeeting::check_same(const comm::Fingerprint& own, int peer) const {
  const Slot& theirs = slot_of(peer);
  if (theirs.sequence == own.sequence && theirs.tag == to_tag(own)) return;  // the usual case, without building names
  comm::check_same_collective({.sequence = own.sequence, .tag = to_tag(own)}, memory_->name_of(rank_),
                              {.sequence = theirs.sequence, .tag = theirs.tag}, memory_->name_of(peer));
}

void SharedMemoryMeeting::signal(MeetingStep step) noexcept {
  const auto which = static_cast<std::size_t>(step);
  member(rank_).counters[which].value.store(++signalled_[which], std::memory_order_seq_cst);
  ring_all();
}

void SharedMemoryMeeting::wait_for_all(MeetingStep step, const Deadline& deadline) {
  const auto which = static_cast<std::size_t>(step);
  for (int peer = 0; peer < world_size_; ++peer) {
    const auto& counter = member(peer).counters[which].value;
    const auto is_there = [&] { return counter.load(std::memory_order_seq_cst) >= signalled_[which]; };
    if (!memory_->wait_for(peer, *waiter_, is_there, deadline)) give_up(peer, deadline);
  }
}

void SharedMemoryMeeting::ring_all() noexcept {
  for (int peer = 0; peer < world_size_; ++peer) member(peer).doorbell.ring();
}

void SharedMemoryMeeting::give_up(int peer, const Deadline& deadline) const {
  throw TimeoutError(concat(memory_->name_of(peer), " did not join the collective in shared memory within ",
                            format_seconds(deadline.waited())));
}

}  // namespace lockstep::ring
