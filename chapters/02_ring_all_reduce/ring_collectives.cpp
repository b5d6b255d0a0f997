#include "02_ring_all_reduce/ring_collectives.hpp"

#include <array>
#include <vector>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "comm/host/buffer_bytes.hpp"
#include "comm/reduce.hpp"

namespace lockstep::ring {

void add(const comm::ProcessGroup::Call& call, std::span<std::byte> own, std::span<const std::byte> theirs) {
  const std::size_t count = own.size() / bytes_of(call.values.dtype);
  comm::reduce_into(own.data(), theirs.data(), static_cast<std::int64_t>(count), call.values.dtype, call.op);
}

void divide_if_mean(const comm::ProcessGroup::Call& call, std::span<std::byte> sums, int world_size) {
  const std::size_t count = sums.size() / bytes_of(call.values.dtype);
  comm::finish_mean(sums.data(), static_cast<std::int64_t>(count), call.values.dtype, call.op, world_size);
}

RingCollectives::RingCollectives(comm::CallMessages& messages)
    : messages_(messages),
      rank_(messages.rank()),
      world_size_(messages.world_size()),
      left_(previous_of(rank_, world_size_)),
      right_(next_of(rank_, world_size_)) {}

// The root's values travel to the right as a chain, one segment after the other: the chain costs one transfer of the
// buffer plus one segment per hop, not one transfer per hop. The last rank tells the root, its right neighbour, that
// the chain is complete: otherwise two ranks that both think they are the root would both send and leave.
void RingCollectives::broadcast(const Call& call) {
  const std::span<std::byte> values = comm::bytes_of(call.values);
  if (rank_ == call.root) {
    messages_.send_segments(call, right_, values);
    return messages_.receive(call, left_, {});
  }
  for (std::size_t i = 0; i < messages_.segments_in(values); ++i) {
    messages_.receive(call, left_, messages_.segment_of(values, i));
    if (right_ != call.root) messages_.send(call, right_, messages_.segment_of(values, i));
  }
  if (right_ == call.root) messages_.send(call, right_, {});
}

// The same chain in reverse: it begins after the root and ends at the root, and every rank adds its own values to the
// sums that pass. Two buffers for sums take turns: one is filled while the other may still be in flight.
void RingCollectives::reduce(const Call& call) {
  const std::span<std::byte> values = comm::bytes_of(call.values);
  if (left_ == call.root) return messages_.send_segments(call, right_, values);
  std::array<std::vector<std::byte>, 2> sums;
  for (std::size_t i = 0; i < messages_.segments_in(values); ++i) {
    const std::span<std::byte> own = messages_.segment_of(values, i);
    if (rank_ == call.root) {
      messages_.receive(call, left_, messages_.arrived(own.size()));
      add(call, own, messages_.arrived(own.size()));
      divide_if_mean(call, own, world_size_);
      continue;
    }
    std::vector<std::byte>& sum = sums[i % 2];
    messages_.flush(call, 1);  // the earlier content of `sum`, two segments ago, is sent
    sum.resize(own.size());
    messages_.receive(call, left_, sum);
    add(call, sum, own);
    messages_.send(call, right_, sum);
  }
  messages_.flush(call);  // before `sums` is destroyed
}

// As in all_reduce, but each rank starts with its own input.
void RingCollectives::all_gather(const Call& call) {
  comm::copy_bytes(comm::part_of(call.values, rank_, world_size_), comm::bytes_of(call.input));
  messages_.send_segments(call, right_, comm::part_of(call.values, rank_, world_size_));
  for (int step = 0; step < world_size_ - 1; ++step) {
    // Step s brings the input of the rank s + 1 to the left.
    const std::span<std::byte> arriving = comm::part_of(call.values, wrap(rank_ - step - 1, world_size_), world_size_);
    for (std::size_t i = 0; i < messages_.segments_in(arriving); ++i) {
      messages_.receive(call, left_, messages_.segment_of(arriving, i));
      if (step < world_size_ - 2)
        messages_.send(call, right_, messages_.segment_of(arriving, i));  // - 2: the last step
    }
  }
}

// As in all_reduce, but the sum of part r ends at rank r: it begins at rank r + 1, so a rank first sends the part of
// its left neighbour. The input is not changed: sums are in separate memory.
void RingCollectives::reduce_scatter(const Call& call) {
  const auto own_part = [&](int steps_back) {
    return comm::part_of(call.input, wrap(rank_ - steps_back, world_size_), world_size_);
  };
  messages_.send_segments(call, right_, own_part(1));
  std::vector<std::byte> sums(comm::bytes_of(call.values).size());
  for (int step = 0; step < world_size_ - 1; ++step) {
    const bool is_complete = step == world_size_ - 2;
    const std::span<std::byte> own = own_part(step + 2);  // + 2: sent one step before by the left neighbour's left one
    for (std::size_t i = 0; i < messages_.segments_in(own); ++i) {
      const std::span<std::byte> sum = messages_.segment_of(sums, i);
      messages_.receive(call, left_, messages_.arrived(sum.size()));
      // The content of `sum` from the step before must be sent: all but the segments that were sent after it, S - 1 of
      // them, or in the last step, which sends none, those that follow in the chunk. This rank waits only after it has
      // received, so the slowest rank never waits: its neighbour has taken its message.
      messages_.flush(call, messages_.segments_in(own) - 1 - (is_complete ? i : 0));
      comm::copy_bytes(sum, messages_.arrived(sum.size()));
      add(call, sum, messages_.segment_of(own, i));
      if (!is_complete) messages_.send(call, right_, sum);
    }
  }
  divide_if_mean(call, sums, world_size_);
  comm::copy_bytes(comm::bytes_of(call.values), sums);
}

}  // namespace lockstep::ring
