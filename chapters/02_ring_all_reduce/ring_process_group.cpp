#include "02_ring_all_reduce/ring_process_group.hpp"

#include <algorithm>

#include "comm/reduce.hpp"

// Rank, chunk and step are defined in ring_schedule.hpp, which says who sends which chunk when. A segment is a part of
// a chunk: chunks travel a segment at a time, each as one frame.
namespace lockstep::ring {
namespace {

std::span<std::byte> bytes_of(const comm::Buffer& buffer, const Chunk& part) {
  const auto width = static_cast<std::int64_t>(lockstep::bytes_of(buffer.dtype));
  auto* const first = static_cast<std::byte*>(buffer.data) + part.begin * width;
  return {first, static_cast<std::size_t>(part.count * width)};
}

}  // namespace

void RingProcessGroup::run_all_reduce(const Call& call) {
  reduce_scatter(call);
  // Each rank divides the one chunk it has finished, so every element is divided once and then only copied: all ranks
  // end with the same bits.
  const Chunk mine = chunk_of(call.values.count, finished_chunk_of(rank(), world_size()), world_size());
  comm::finish_mean(bytes_of(call.values, mine).data(), mine.count, call.values.dtype, call.op, world_size());
  all_gather(call);
}

// After step s each rank has added its own values to a chunk that s + 1 ranks before it have added theirs to.
void RingProcessGroup::reduce_scatter(const Call& call) {
  const std::int64_t total = call.values.count;
  // All ranks count the segments of the largest chunk, chunk 0; the last segment of a smaller chunk may be empty.
  const std::int64_t segments = segments_in(chunk_of(total, 0, world_size()).count, call);

  for (int step = 0; step < world_size() - 1; ++step) {
    const Chunk outgoing = chunk_of(total, reduce_scatter_sends(rank(), step, world_size()), world_size());
    const Chunk incoming = chunk_of(total, reduce_scatter_receives(rank(), step, world_size()), world_size());
    for (std::int64_t i = 0; i < segments; ++i) {
      const Chunk sum = segment_of(incoming, i, call);
      const std::span<std::byte> own = bytes_of(call.values, sum);
      const std::span<std::byte> theirs = std::span(arrived_).first(own.size());
      exchange(call, bytes_of(call.values, segment_of(outgoing, i, call)), theirs);
      comm::reduce_into(own.data(), theirs.data(), sum.count, call.values.dtype, call.op);
    }
  }
}

// After step s each rank has s + 2 finished chunks: its own, and those that arrived in steps 0 to s.
void RingProcessGroup::all_gather(const Call& call) {
  const std::int64_t total = call.values.count;
  const std::int64_t segments = segments_in(chunk_of(total, 0, world_size()).count, call);

  for (int step = 0; step < world_size() - 1; ++step) {
    const Chunk outgoing = chunk_of(total, all_gather_sends(rank(), step, world_size()), world_size());
    const Chunk incoming = chunk_of(total, all_gather_receives(rank(), step, world_size()), world_size());
    for (std::int64_t i = 0; i < segments; ++i) {
      exchange(call, bytes_of(call.values, segment_of(outgoing, i, call)),
               bytes_of(call.values, segment_of(incoming, i, call)));
    }
  }
}

// The root's values travel to the right as a chain. A rank passes segment i - 1 on while segment i arrives, so the
// chain costs one transfer of the buffer plus one segment per hop, not one transfer per hop.
void RingProcessGroup::run_broadcast(const Call& call) {
  const int hops_from_root = wrap(rank() - call.root, world_size());
  const bool is_first = hops_from_root == 0;
  const bool is_last = hops_from_root == world_size() - 1;
  const Chunk all{0, call.values.count};
  const std::int64_t segments = segments_in(all.count, call);
  const auto segment = [&](std::int64_t i) { return bytes_of(call.values, segment_of(all, i, call)); };

  if (is_first && is_last) return;  // a group of one
  if (!is_first) receive_left(call, segment(0));
  for (std::int64_t i = 1; i < segments; ++i) {
    if (is_first) {
      send_right(call, segment(i - 1));
    } else if (is_last) {
      receive_left(call, segment(i));
    } else {
      exchange(call, segment(i - 1), segment(i));
    }
  }
  if (!is_last) send_right(call, segment(segments - 1));
}

// An empty message from the left says "I am here, and so are those I have heard of": after step s a rank has heard of
// the s + 1 ranks before it, after step P - 2 of all P - 1 others.
void RingProcessGroup::run_barrier(const Call& call) {
  for (int step = 0; step < world_size() - 1; ++step) exchange(call, {}, {});
}

Chunk RingProcessGroup::segment_of(const Chunk& chunk, std::int64_t index, const Call& call) const {
  const std::int64_t most = options_.segment_bytes / static_cast<std::int64_t>(lockstep::bytes_of(call.values.dtype));
  const std::int64_t skipped = std::min(index * most, chunk.count);
  return {chunk.begin + skipped, std::min(most, chunk.count - skipped)};
}

std::int64_t RingProcessGroup::segments_in(std::int64_t count, const Call& call) const {
  const std::int64_t most = options_.segment_bytes / static_cast<std::int64_t>(lockstep::bytes_of(call.values.dtype));
  return std::max<std::int64_t>((count + most - 1) / most, 1);  // + most - 1: rounds up
}

}  // namespace lockstep::ring
