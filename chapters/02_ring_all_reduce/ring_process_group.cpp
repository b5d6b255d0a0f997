#include "02_ring_all_reduce/ring_process_group.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/host/tcp_transport.hpp"
#include "store/store.hpp"

// Rank, chunk and step are defined in ring_schedule.hpp, which says which rank sends which chunk in which step. A
// segment is a part of a chunk: chunks travel a segment at a time, each as one message.
//
// One rule makes the ring fast: arriving data is processed and passed on at once, a segment at a time. send() does not
// wait for the neighbour, so the next segment is in flight while this one is being added.
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
  others_.emplace(messages());
}

RingProcessGroup::~RingProcessGroup() { shutdown(); }

void RingProcessGroup::run_all_reduce(const Call& call) {
  const bool is_small = options_.small_bytes > 0 && call.values.bytes() <= options_.small_bytes;
  if (is_small) return reduce_at_rank_zero(call);
  reduce_scatter(call);
  all_gather(call);
}

// Step 0 sends this rank's own values of one chunk. In every step the rank adds its own values to the arriving chunk
// and passes the sum on: the next step sends it. After step s the sum has visited s + 2 ranks; after step P - 2 it is
// complete, and passing it on is the first step of all-gather.
void RingProcessGroup::reduce_scatter(const Call& call) {
  messages().send_segments(call, right(), chunk(call, reduce_scatter_sends(rank(), 0, world_size())));

  for (int step = 0; step < world_size() - 1; ++step) {
    const bool is_complete = step == world_size() - 2;
    const std::span<std::byte> sums = chunk(call, reduce_scatter_receives(rank(), step, world_size()));
    for (std::size_t i = 0; i < messages().segments_in(sums); ++i) {
      const std::span<std::byte> own = messages().segment_of(sums, i);
      const std::span<std::byte> theirs = messages().arrived(own.size());
      messages().receive(call, left(), theirs);
      add(call, own, theirs);
      // Every element is divided once, by the rank that completes it, and then only copied: all ranks end with the
      // same bits.
      if (is_complete) divide_if_mean(call, own, world_size());
      messages().send(call, right(), own);
    }
  }
}

// The complete chunks go around: after step s each rank has s + 2 of them. The chunk that arrives in the last step has
// been everywhere and is not passed on.
void RingProcessGroup::all_gather(const Call& call) {
  for (int step = 0; step < world_size() - 1; ++step) {
    const bool is_last = step == world_size() - 2;
    const std::span<std::byte> arriving = chunk(call, all_gather_receives(rank(), step, world_size()));
    for (std::size_t i = 0; i < messages().segments_in(arriving); ++i) {
      messages().receive(call, left(), messages().segment_of(arriving, i));
      if (!is_last) messages().send(call, right(), messages().segment_of(arriving, i));
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

// For a small buffer, the number of messages counts, not their bytes. Rank 0 adds in rank order and sends the sum back.
void RingProcessGroup::reduce_at_rank_zero(const Call& call) {
  const std::span<std::byte> values = comm::bytes_of(call.values);
  if (rank() != 0) {
    messages().send_segments(call, 0, values);
    return messages().receive_segments(call, 0, values);
  }
  for (std::size_t i = 0; i < messages().segments_in(values); ++i) {
    const std::span<std::byte> own = messages().segment_of(values, i);
    for (int peer = 1; peer < world_size(); ++peer) {
      messages().receive(call, peer, messages().arrived(own.size()));
      add(call, own, messages().arrived(own.size()));
    }
    divide_if_mean(call, own, world_size());
  }
  for (int peer = 1; peer < world_size(); ++peer) messages().send_segments(call, peer, values);
}

void RingProcessGroup::run_barrier(const Call& call) { reduce_at_rank_zero(call); }

std::unique_ptr<comm::ProcessGroup> RingProcessGroup::do_split(comm::JobContext context) {
  return make_ring_process_group(std::move(context), options_);
}

std::unique_ptr<comm::ProcessGroup> make_ring_process_group(comm::JobContext context, const RingOptions& options) {
  return std::make_unique<RingProcessGroup>(std::move(context), options);
}

}  // namespace lockstep::ring
