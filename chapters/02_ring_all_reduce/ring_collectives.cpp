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

// The root's values travel to the right as a chain, a segment behind the other: the chain costs one transfer of the
// buffer plus one segment per hop, not one transfer per hop. The last rank tells the root, its right neighbour, that
// the chain is complete: two ranks that both believe to be the root would otherwise both send, and leave.
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

// The same chain the other way about: it begins after the root and ends in it, and every rank adds its own values to
// what passes. Two places for sums take turns: one is filled while the other may still be on its way.
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
    messages_.flush(call, 1);  // what `sum` held two segments ago is out
    sum.resize(own.size());
    messages_.receive(call, left_, sum);
    add(call, sum, own);
    messages_.send(call, right_, sum);
  }
  messages_.flush(call);  // before `sums` goes
}

// As in all_reduce, but this rank's own input is what it starts with.
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
// its left neighbour. The input stays as it is: sums travel in a memory of their own.
void RingCollectives::reduce_scatter(const Call& call) {
  const auto own_part = [&](int steps_back) {
    return comm::part_of(call.input, wrap(rank_ - steps_back, world_size_), world_size_);
  };
  messages_.send_segments(call, right_, own_part(1));
  std::vector<std::byte> sums(comm::bytes_of(call.values).size());
  for (int step = 0; step < world_size_ - 1; ++step) {
    const bool is_complete = step == world_size_ - 2;
    const std::span<std::byte> own = own_part(step + 2);  // + 2: sent to the left neighbour a step ago, by its left one
    for (std::size_t i = 0; i < messages_.segments_in(own); ++i) {
      const std::span<std::byte> sum = messages_.segment_of(sums, i);
      messages_.receive(call, left_, messages_.arrived(sum.size()));
      // What `sum` held in the step before must be out: all but the segments that were sent after it, S - 1 of them, or
      // in the last step, which sends none, those that follow in the chunk. This rank waits only once it has received,
      // so the rank that is furthest behind never waits: its neighbour has taken its message.
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
