#include "02_ring_all_reduce/ring_process_group.hpp"

#include "comm/reduce.hpp"

// Rank, chunk and step are defined in ring_schedule.hpp, which says who sends which chunk when. A segment is a part of
// a chunk: chunks travel a segment at a time, each as one message.
//
// One rule makes the ring fast: what arrives is worked on and passed on at once, a segment at a time. send() does not
// wait for the neighbour, so the next segment is under way while this one is being added.
namespace lockstep::ring {

void RingProcessGroup::run_all_reduce(const Call& call) {
  if (world_size() == 1) return;
  const bool is_small = options_.small_bytes > 0 && call.values.bytes() <= options_.small_bytes;
  if (is_small) return reduce_at_rank_zero(call);
  reduce_scatter(call);
  all_gather(call);
}

// Step 0 sends this rank's own values of one chunk. In every step the rank adds its own values to the chunk that
// arrives, and passes the sum on: that is what the next step sends. After step s the sum has visited s + 2 ranks; after
// step P - 2 it is complete, and passing it on is the first step of all-gather.
void RingProcessGroup::reduce_scatter(const Call& call) {
  send_segments(call, right(), chunk(call, reduce_scatter_sends(rank(), 0, world_size())));

  for (int step = 0; step < world_size() - 1; ++step) {
    const bool is_complete = step == world_size() - 2;
    const std::span<std::byte> sums = chunk(call, reduce_scatter_receives(rank(), step, world_size()));
    for (std::size_t i = 0; i < segments_in(sums); ++i) {
      const std::span<std::byte> own = segment_of(sums, i);
      const std::span<std::byte> theirs = arrived(own.size());
      receive(call, left(), theirs);
      add(call, own, theirs);
      // Every element is divided once, by the rank that completes it, and then only copied: all ranks end with the
      // same bits.
      if (is_complete) divide_if_mean(call, own);
      send(call, right(), own);
    }
  }
}

// The complete chunks go round: after step s each rank has s + 2 of them. What arrives in the last step has been
// everywhere and is not passed on.
void RingProcessGroup::all_gather(const Call& call) {
  for (int step = 0; step < world_size() - 1; ++step) {
    const bool is_last = step == world_size() - 2;
    const std::span<std::byte> arriving = chunk(call, all_gather_receives(rank(), step, world_size()));
    for (std::size_t i = 0; i < segments_in(arriving); ++i) {
      receive(call, left(), segment_of(arriving, i));
      if (!is_last) send(call, right(), segment_of(arriving, i));
    }
  }
}

std::span<std::byte> RingProcessGroup::chunk(const Call& call, int index) const {
  const Chunk part = chunk_of(call.values.count, index, world_size());
  const std::size_t element_bytes = bytes_of(call.values.dtype);
  return comm::bytes_of(call.values)
      .subspan(static_cast<std::size_t>(part.begin) * element_bytes,
               static_cast<std::size_t>(part.count) * element_bytes);
}

void RingProcessGroup::add(const Call& call, std::span<std::byte> own, std::span<const std::byte> theirs) const {
  const std::size_t count = own.size() / bytes_of(call.values.dtype);
  comm::reduce_into(own.data(), theirs.data(), static_cast<std::int64_t>(count), call.values.dtype, call.op);
}

void RingProcessGroup::divide_if_mean(const Call& call, std::span<std::byte> values) const {
  const std::size_t count = values.size() / bytes_of(call.values.dtype);
  comm::finish_mean(values.data(), static_cast<std::int64_t>(count), call.values.dtype, call.op, world_size());
}

}  // namespace lockstep::ring
