// The ring's set-up, and the collectives beside all_reduce, which is in ring_process_group.cpp.
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/host/tcp_transport.hpp"
#include "store/store.hpp"

namespace lockstep::ring {
namespace {

RingOptions agree(const comm::JobContext& context, const std::string& group, RingOptions own) {
  if (context.world_size == 1) return own;
  const std::string key = concat("generation/", context.generation, "/", group, "/options");
  if (context.rank == 0) {
    const nlohmann::json json = {{"segment_bytes", own.segment_bytes}, {"small_bytes", own.small_bytes}};
    context.store->set(key, dump_json(json));
    return own;
  }
  const std::string task = concat("rank ", context.global_rank(context.rank),
                                  ": waiting for the ring's options from rank ", context.global_rank(0));
  const auto json = parse_json(comm::get_or_fail(context, key, task, Deadline::after(context.limits.join)));
  return {.segment_bytes = json.at("segment_bytes"), .small_bytes = json.at("small_bytes")};
}

}  // namespace

RingProcessGroup::RingProcessGroup(comm::JobContext context, const RingOptions& options)
    : HostProcessGroup(std::move(context)) {
  require(options.segment_bytes >= 8, "segment_bytes is ", options.segment_bytes, ", less than one element");
  const std::string group = concat("ring/", group_id());
  options_ = agree(this->context(), group, options);
  const std::set<int> neighbours = world_size() == 1 ? std::set<int>{} : std::set<int>{left(), right()};
  const auto deadline = Deadline::after(this->context().limits.join);
  use(std::make_unique<comm::TcpTransport>(this->context(), group, neighbours, deadline), options_.segment_bytes);
}

RingProcessGroup::~RingProcessGroup() { shutdown(); }

// A small buffer costs its messages, not its bytes. Rank 0 adds up in the order of the ranks and sends the sum back.
void RingProcessGroup::reduce_at_rank_zero(const Call& call) {
  const std::span<std::byte> values = comm::bytes_of(call.values);
  if (rank() != 0) {
    send_segments(call, 0, values);
    return receive_segments(call, 0, values);
  }
  for (std::size_t i = 0; i < segments_in(values); ++i) {
    const std::span<std::byte> own = segment_of(values, i);
    for (int peer = 1; peer < world_size(); ++peer) {
      receive(call, peer, arrived(own.size()));
      add(call, own, arrived(own.size()));
    }
    divide_if_mean(call, own);
  }
  for (int peer = 1; peer < world_size(); ++peer) send_segments(call, peer, values);
}

void RingProcessGroup::run_barrier(const Call& call) { reduce_at_rank_zero(call); }

// The root's values travel to the right as a chain, a segment behind the other: the chain costs one transfer of the
// buffer plus one segment per hop, not one transfer per hop. The last rank tells the root, its right neighbour, that
// the chain is complete: two ranks that both believe to be the root would otherwise both send, and leave.
void RingProcessGroup::run_broadcast(const Call& call) {
  if (world_size() == 1) return;
  const std::span<std::byte> values = comm::bytes_of(call.values);
  if (rank() == call.root) {
    send_segments(call, right(), values);
    return receive(call, left(), {});
  }
  for (std::size_t i = 0; i < segments_in(values); ++i) {
    receive(call, left(), segment_of(values, i));
    if (right() != call.root) send(call, right(), segment_of(values, i));
  }
  if (right() == call.root) send(call, right(), {});
}

// The same chain the other way about: it begins behind the root and ends in it, and every rank adds its own values to
// what passes. Two places for sums take turns: one is filled while the other may still be on its way.
void RingProcessGroup::run_reduce(const Call& call) {
  if (world_size() == 1) return;
  const std::span<std::byte> values = comm::bytes_of(call.values);
  if (left() == call.root) return send_segments(call, right(), values);
  std::array<std::vector<std::byte>, 2> sums;
  for (std::size_t i = 0; i < segments_in(values); ++i) {
    const std::span<std::byte> own = segment_of(values, i);
    if (rank() == call.root) {
      receive(call, left(), arrived(own.size()));
      add(call, own, arrived(own.size()));
      divide_if_mean(call, own);
      continue;
    }
    std::vector<std::byte>& sum = sums[i % 2];
    flush(call, 1);  // what `sum` held two segments ago is out
    sum.resize(own.size());
    receive(call, left(), sum);
    add(call, sum, own);
    send(call, right(), sum);
  }
  flush(call);  // before `sums` goes
}

// As in all_reduce, but this rank's own input is what it starts with.
void RingProcessGroup::run_all_gather(const Call& call) {
  comm::copy_bytes(comm::part_of(call.values, rank(), world_size()), comm::bytes_of(call.input));
  if (world_size() == 1) return;
  send_segments(call, right(), comm::part_of(call.values, rank(), world_size()));
  for (int step = 0; step < world_size() - 1; ++step) {
    // Step s brings the input of the rank s + 1 to the left.
    const std::span<std::byte> arriving =
        comm::part_of(call.values, wrap(rank() - step - 1, world_size()), world_size());
    for (std::size_t i = 0; i < segments_in(arriving); ++i) {
      receive(call, left(), segment_of(arriving, i));
      if (step < world_size() - 2) send(call, right(), segment_of(arriving, i));  // - 2: the last step
    }
  }
}

// As in all_reduce, but the sum of part r ends at rank r: it begins at rank r + 1, so a rank first sends the part of
// its left neighbour. The input stays as it is: sums travel in a memory of their own.
void RingProcessGroup::run_reduce_scatter(const Call& call) {
  const auto own_part = [&](int steps_back) {
    return comm::part_of(call.input, wrap(rank() - steps_back, world_size()), world_size());
  };
  if (world_size() == 1) return comm::copy_bytes(comm::bytes_of(call.values), own_part(0));
  send_segments(call, right(), own_part(1));
  std::vector<std::byte> sums(comm::bytes_of(call.values).size());
  for (int step = 0; step < world_size() - 1; ++step) {
    const bool is_complete = step == world_size() - 2;
    const std::span<std::byte> own = own_part(step + 2);  // + 2: sent to the left neighbour a step ago, by its left one
    for (std::size_t i = 0; i < segments_in(own); ++i) {
      const std::span<std::byte> sum = segment_of(sums, i);
      receive(call, left(), arrived(sum.size()));
      // What `sum` held in the step before must be out: all but the segments that were sent after it, S - 1 of them, or
      // in the last step, which sends none, those that follow in the chunk. This rank waits only once it has received,
      // so the rank that is furthest behind never waits: its neighbour has taken its message.
      flush(call, segments_in(own) - 1 - (is_complete ? i : 0));
      comm::copy_bytes(sum, arrived(sum.size()));
      add(call, sum, segment_of(own, i));
      if (!is_complete) send(call, right(), sum);
    }
  }
  divide_if_mean(call, sums);
  comm::copy_bytes(comm::bytes_of(call.values), sums);
}

std::unique_ptr<comm::ProcessGroup> RingProcessGroup::do_split(comm::JobContext context) {
  return make_ring_process_group(std::move(context), options_);
}

std::unique_ptr<comm::ProcessGroup> make_ring_process_group(comm::JobContext context, const RingOptions& options) {
  return std::make_unique<RingProcessGroup>(std::move(context), options);
}

}  // namespace lockstep::ring
