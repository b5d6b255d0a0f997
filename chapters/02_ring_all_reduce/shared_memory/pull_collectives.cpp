#include "02_ring_all_reduce/shared_memory/pull_collectives.hpp"

#include <algorithm>

#include "comm/copy_bytes.hpp"
#include "comm/host/reduce_many.hpp"

// An input consists of parts of equal size: one per rank for reduce-scatter, else one. A piece is a run of elements of
// a part. All ranks work on the same piece at the same time.
namespace lockstep::ring {

using MeetingStep = SharedMemoryMeeting::MeetingStep;

PullCollectives::PullCollectives(SharedMemoryMeeting& meeting, const comm::RegisteredMemory& registered,
                                 const SmallBufferLimits& small)
    : meeting_(meeting),
      registered_(registered),
      rank_(meeting.rank()),
      world_size_(meeting.world_size()),
      small_bytes_(small.private_bytes),
      sources_(static_cast<std::size_t>(world_size_)) {}

// Every rank reduces its own part.
void PullCollectives::reduce_scatter(const comm::Buffer& output, const comm::Buffer& input,
                                     const comm::Fingerprint& fingerprint, const Deadline& deadline) {
  const Parts parts{.count = world_size_, .read = rank_, .elements = output.count};
  read_inputs({input, fingerprint, deadline}, parts, [&](Chunk piece) {
    destinations_.assign(
        1, static_cast<std::byte*>(output.data) + piece.begin * static_cast<std::int64_t>(bytes_of(output.dtype)));
    comm::reduce_many(sources_, destinations_, piece.count, output.dtype, fingerprint.op);
  });
}

// Every rank copies all parts, beginning with that of the next rank, so that not all read from the same one.
void PullCollectives::all_gather(const comm::Buffer& output, const comm::Buffer& input,
                                 const comm::Fingerprint& fingerprint, const Deadline& deadline) {
  const Parts parts{.count = 1, .read = 0, .elements = input.count};
  const auto width = static_cast<std::int64_t>(bytes_of(input.dtype));
  read_inputs({input, fingerprint, deadline}, parts, [&](Chunk piece) {
    for (int i = 1; i <= world_size_; ++i) {
      const int rank = wrap(rank_ + i, world_size_);
      std::byte* const to = static_cast<std::byte*>(output.data) + (rank * input.count + piece.begin) * width;
      if (to != sources_[rank]) comm::copy_bytes(to, sources_[rank], static_cast<std::size_t>(piece.count * width));
    }
  });
}

void PullCollectives::broadcast(const comm::Buffer& values, int root, const comm::Fingerprint& fingerprint,
                                const Deadline& deadline) {
  const Parts parts{.elements = values.count, .from = root};
  const auto width = static_cast<std::int64_t>(bytes_of(values.dtype));
  read_inputs({values, fingerprint, deadline}, parts, [&](Chunk piece) {
    if (rank_ == root) return;
    std::byte* const to = static_cast<std::byte*>(values.data) + piece.begin * width;
    comm::copy_bytes(to, sources_[root], static_cast<std::size_t>(piece.count * width));
  });
}

// Small inputs in the slots need no second wait; registered inputs are read in place; private ones go through the
// staged segments.
void PullCollectives::read_inputs(const Call& call, const Parts& parts, const std::function<void(Chunk)>& read) {
  const auto bytes = static_cast<std::size_t>(call.input.bytes());
  const bool is_small = bytes <= small_bytes_;
  const auto offset = is_small ? std::nullopt : registered_.find(call.input.data, bytes);
  const std::span<std::byte> slot = meeting_.next_slot();
  if (is_small && bytes > 0 && is_read(parts, rank_)) comm::copy_bytes(slot.data(), call.input.data, bytes);
  meeting_.arrive(call.fingerprint, offset, bytes, call.deadline);

  const Chunk all{0, parts.elements};
  const std::int64_t first_byte = parts.read * parts.elements * static_cast<std::int64_t>(bytes_of(call.input.dtype));
  if (is_small) {
    for (int rank = 0; rank < world_size_; ++rank) sources_[rank] = meeting_.slot(rank) + first_byte;
    if (bytes > 0) read(all);
    return;
  }
  bool is_registered = true;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (!is_read(parts, rank)) continue;
    is_registered = is_registered && meeting_.buffers()[rank] != nullptr;
    if (is_registered) sources_[rank] = meeting_.buffers()[rank] + first_byte;
  }
  if (is_registered) {
    read(all);
  } else {
    read_staged(call, parts, read);
  }
  // No rank changes its input before all have read it.
  meeting_.signal(MeetingStep::kReduced);
  meeting_.wait_for_all(MeetingStep::kReduced, call.deadline);
}

// One wait per piece. Staged segments take turns: a rank that stages piece i knows that all have staged piece i - 1,
// and so have read piece i - 2, whose place piece i takes.
void PullCollectives::read_staged(const Call& call, const Parts& parts, const std::function<void(Chunk)>& read) {
  const auto width = static_cast<std::int64_t>(bytes_of(call.input.dtype));
  const auto* const own = static_cast<const std::byte*>(call.input.data);
  const std::int64_t length =
      std::max<std::int64_t>(SharedMemoryMeeting::kSegmentBytes / (parts.count * kLineBytes), 1) * kLineBytes / width;
  for (std::int64_t index = 0; index * length < parts.elements; ++index) {
    const Chunk piece{index * length, std::min(length, parts.elements - index * length)};
    const auto in_input = [&](int part) { return (part * parts.elements + piece.begin) * width; };
    const bool is_private = meeting_.buffers()[rank_] == nullptr && is_read(parts, rank_);
    for (int part = 0; is_private && part < parts.count; ++part) {
      if (parts.count > 1 && part == parts.read) continue;  // no other rank reads it
      comm::copy_bytes(meeting_.segment(rank_, index) + part * length * width, own + in_input(part),
                       static_cast<std::size_t>(piece.count * width));
    }
    meeting_.signal(MeetingStep::kCopied);
    meeting_.wait_for_all(MeetingStep::kCopied, call.deadline);
    for (int rank = 0; rank < world_size_; ++rank) {
      const std::byte* const whole = meeting_.buffers()[rank];  // registered memory is read in place
      sources_[rank] =
          whole != nullptr ? whole + in_input(parts.read) : meeting_.segment(rank, index) + parts.read * length * width;
    }
    sources_[rank_] = own + in_input(parts.read);
    read(piece);
  }
}

}  // namespace lockstep::ring
