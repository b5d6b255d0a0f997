#include "02_ring_all_reduce/shared_memory_all_reduce.hpp"

#include <algorithm>
#include <cstring>

#include "comm/copy_bytes.hpp"
#include "comm/host/reduce_many.hpp"

// Chunk r of a buffer, or of a segment of it, is the part that rank r reduces; a segment is a part of a buffer that
// fits in the cache. Each chunk begins on a new line of 64 bytes, so that no two ranks ever write to one line.
namespace lockstep::ring {
namespace {

std::int64_t width_of(const comm::Buffer& values) { return static_cast<std::int64_t>(bytes_of(values.dtype)); }

std::byte* bytes_at(const comm::Buffer& values, std::int64_t element) {
  return static_cast<std::byte*>(values.data) + element * width_of(values);
}

// The part of `all` that rank `rank` reduces, in elements relative to the start of `all`.
Chunk chunk_in(std::int64_t count, std::int64_t width, int rank, int world_size) {
  const std::int64_t per_line = kLineBytes / width;
  const Chunk lines = chunk_of((count + per_line - 1) / per_line, rank, world_size);
  const std::int64_t begin = std::min(lines.begin * per_line, count);
  return {begin, std::min((lines.begin + lines.count) * per_line, count) - begin};
}

}  // namespace

SharedMemoryAllReduce::SharedMemoryAllReduce(SharedMemoryMeeting& meeting, const comm::RegisteredMemory& registered,
                                             const SmallBufferLimits& small)
    : meeting_(meeting),
      registered_(registered),
      rank_(meeting.rank()),
      world_size_(meeting.world_size()),
      small_(small),
      sources_(static_cast<std::size_t>(world_size_)) {}

void SharedMemoryAllReduce::run(const comm::Buffer& values, const comm::Fingerprint& fingerprint,
                                const Deadline& deadline) {
  const Call call{values, fingerprint, deadline};
  const auto bytes = static_cast<std::size_t>(values.bytes());
  const auto offset = registered_.find(values.data, bytes);

  // Data that others need from private memory must be in shared memory before the ranks meet. A registered buffer is
  // copied to its slot only if all ranks will certainly read the slots; otherwise they read it in place, from the cache
  // of the rank that wrote it.
  const bool is_small = bytes <= (offset ? small_.registered_bytes : small_.private_bytes);
  const std::span<std::byte> slot = meeting_.next_slot();
  if (is_small && bytes > 0) comm::copy_bytes(slot.data(), values.data, bytes);
  if (!is_small && !offset) copy_in(call, 0);
  meeting_.arrive(fingerprint, offset, bytes, deadline);

  // All ranks have the same information, so all choose the same algorithm.
  const auto private_ranks = std::ranges::count(meeting_.buffers(), nullptr);
  const bool is_in_slots = bytes <= small_.private_bytes && private_ranks == world_size_;
  if (bytes <= small_.registered_bytes || is_in_slots) return reduce_slots(call);
  if (private_ranks == 0) return reduce_in_place(call);
  reduce_segments(call, bytes <= small_.private_bytes ? FirstSegment::kMissing : FirstSegment::kCopied);
}

// Every rank reduces all slots: P times the additions, but no wait for results.
void SharedMemoryAllReduce::reduce_slots(const Call& call) {
  if (call.values.count == 0 || !call.is_for(rank_)) return;
  for (int rank = 0; rank < world_size_; ++rank) sources_[rank] = meeting_.slot(rank);
  destinations_.assign(1, call.values.data);
  comm::reduce_many(sources_, destinations_, call.values.count, call.values.dtype, call.fingerprint.op);
}

// Only rank r touches chunk r, in all buffers, so no copy is needed first. After the wait at the end, the other ranks
// have written their chunks of this rank's buffer.
void SharedMemoryAllReduce::reduce_in_place(const Call& call) {
  const Chunk mine = chunk_in(call.values.count, width_of(call.values), rank_, world_size_);
  const std::int64_t first_byte = mine.begin * width_of(call.values);
  destinations_.clear();
  for (int rank = 0; rank < world_size_; ++rank) {
    sources_[rank] = meeting_.buffers()[rank] + first_byte;
    if (call.is_for(rank)) destinations_.push_back(meeting_.buffers()[rank] + first_byte);
  }
  comm::reduce_many(sources_, destinations_, mine.count, call.values.dtype, call.fingerprint.op);
  meeting_.signal(SharedMemoryMeeting::MeetingStep::kReduced);
  meeting_.wait_for_all(SharedMemoryMeeting::MeetingStep::kReduced, call.deadline);
}

// Segment i + 1 is copied in before segment i's results are copied out, so a rank that is slightly late still has work.
// Staged segment i may be overwritten once all ranks have reduced it. Its results may be overwritten once all have
// copied in segment i + 2, because each copies i's results out before that.
void SharedMemoryAllReduce::reduce_segments(const Call& call, FirstSegment first) {
  using MeetingStep = SharedMemoryMeeting::MeetingStep;
  const std::int64_t segments =
      (call.values.bytes() + SharedMemoryMeeting::kSegmentBytes - 1) / SharedMemoryMeeting::kSegmentBytes;
  for (std::int64_t i = 0; i <= segments; ++i) {
    const bool is_past_end = i == segments;
    const bool is_missing = !is_past_end && (i > 0 || first == FirstSegment::kMissing);
    if (is_missing) {
      if (meeting_.buffers()[rank_] == nullptr) copy_in(call, i);
      meeting_.signal(MeetingStep::kCopied);
    }
    if (i > 0) {
      meeting_.wait_for_all(MeetingStep::kReduced, call.deadline);
      if (call.is_for(rank_)) copy_out(call, i - 1);
    }
    if (is_past_end) break;
    if (is_missing) meeting_.wait_for_all(MeetingStep::kCopied, call.deadline);
    reduce_segment(call, i);
    meeting_.signal(MeetingStep::kReduced);
  }
}

Chunk SharedMemoryAllReduce::segment_of(const Call& call, std::int64_t index) const {
  const std::int64_t length = SharedMemoryMeeting::kSegmentBytes / width_of(call.values);
  const std::int64_t begin = std::min(index * length, call.values.count);
  return {begin, std::min(length, call.values.count - begin)};
}

// Copies this rank's segment, except for the chunk that it reduces itself: no other rank reads that.
void SharedMemoryAllReduce::copy_in(const Call& call, std::int64_t index) {
  const Chunk segment = segment_of(call, index);
  const std::int64_t width = width_of(call.values);
  const Chunk mine = chunk_in(segment.count, width, rank_, world_size_);
  const std::int64_t end = mine.begin + mine.count;
  const std::byte* const from = bytes_at(call.values, segment.begin);
  std::byte* const to = meeting_.segment(rank_, index);
  comm::copy_bytes(to, from, static_cast<std::size_t>(mine.begin * width));
  comm::copy_bytes(to + end * width, from + end * width, static_cast<std::size_t>((segment.count - end) * width));
}

void SharedMemoryAllReduce::reduce_segment(const Call& call, std::int64_t index) {
  const Chunk segment = segment_of(call, index);
  const std::int64_t width = width_of(call.values);
  const Chunk mine = chunk_in(segment.count, width, rank_, world_size_);
  const std::int64_t first_byte = mine.begin * width;
  std::byte* const own = bytes_at(call.values, segment.begin + mine.begin);
  for (int rank = 0; rank < world_size_; ++rank) {
    std::byte* const whole = meeting_.buffers()[rank];  // registered memory is read in place
    sources_[rank] =
        whole != nullptr ? whole + segment.begin * width + first_byte : meeting_.segment(rank, index) + first_byte;
  }
  sources_[rank_] = own;
  destinations_.assign(1, result(index) + first_byte);
  if (call.is_for(rank_)) destinations_.push_back(own);
  comm::reduce_many(sources_, destinations_, mine.count, call.values.dtype, call.fingerprint.op);
}

void SharedMemoryAllReduce::copy_out(const Call& call, std::int64_t index) {
  const Chunk segment = segment_of(call, index);
  const std::int64_t width = width_of(call.values);
  const Chunk mine = chunk_in(segment.count, width, rank_, world_size_);
  const std::int64_t end = mine.begin + mine.count;
  const std::byte* const from = result(index);
  std::byte* const to = bytes_at(call.values, segment.begin);
  comm::copy_bytes(to, from, static_cast<std::size_t>(mine.begin * width));
  comm::copy_bytes(to + end * width, from + end * width, static_cast<std::size_t>((segment.count - end) * width));
}

}  // namespace lockstep::ring
