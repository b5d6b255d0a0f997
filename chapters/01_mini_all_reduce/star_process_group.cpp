#include "01_mini_all_reduce/star_process_group.hpp"

#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "comm/host/tcp_transport.hpp"
#include "comm/reduce.hpp"

namespace lockstep::star {
namespace {

constexpr int kCentre = 0;  // for collectives without a root

// Connections made at the start: the centre to all others, the others to the centre. Other pairs connect when a send, a
// recv or another root first needs them.
std::set<int> first_peers(const comm::JobContext& context) {
  if (context.rank != kCentre) return {kCentre};
  std::vector<int> others(static_cast<std::size_t>(context.world_size - 1));  // all ranks but the centre
  std::iota(others.begin(), others.end(), kCentre + 1);
  return {others.begin(), others.end()};
}

}  // namespace

StarProcessGroup::StarProcessGroup(comm::JobContext context, const StarOptions& options)
    : HostProcessGroup(std::move(context)), options_(options) {
  use(std::make_unique<comm::TcpTransport>(this->context(), concat("star/", group_id()), first_peers(this->context()),
                                           Deadline::after(this->context().limits.join)),
      options.segment_bytes);
}

StarProcessGroup::~StarProcessGroup() { shutdown(); }

void StarProcessGroup::run_all_reduce(const Call& call) {
  const std::span<std::byte> values = comm::bytes_of(call.values);
  reduce_to(kCentre, call, values);
  if (rank() == kCentre) {
    comm::finish_mean(values.data(), call.values.count, call.values.dtype, call.op, world_size());
  }
  send_from(kCentre, call, values);
}

void StarProcessGroup::reduce_to(int centre, const Call& call, std::span<std::byte> values) {
  if (rank() != centre) return messages().send_segments(call, centre, values);
  const std::size_t element_bytes = bytes_of(call.values.dtype);
  for (std::size_t i = 0; i < messages().segments_in(values); ++i) {
    const std::span<std::byte> own = messages().segment_of(values, i);
    // The lowest rank first, even if it is late: the order is fixed, so runs repeat bit for bit.
    for (int peer = 0; peer < world_size(); ++peer) {
      if (peer == centre) continue;
      const std::span<std::byte> theirs = messages().arrived(own.size());
      messages().receive(call, peer, theirs);
      comm::reduce_into(own.data(), theirs.data(), static_cast<std::int64_t>(own.size() / element_bytes),
                        call.values.dtype, call.op);
    }
  }
}

void StarProcessGroup::send_from(int centre, const Call& call, std::span<std::byte> values) {
  if (rank() != centre) return messages().receive_segments(call, centre, values);
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer != centre) messages().send_segments(call, peer, values);
  }
}

// The empty message back tells the root that the others agree on the root: otherwise two ranks that each believe to be
// the root would both send and return.
void StarProcessGroup::run_broadcast(const Call& call) {
  send_from(call.root, call, comm::bytes_of(call.values));
  if (rank() != call.root) return messages().send(call, call.root, {});
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer != call.root) messages().receive(call, peer, {});
  }
}

void StarProcessGroup::run_reduce(const Call& call) {
  const std::span<std::byte> values = comm::bytes_of(call.values);
  reduce_to(call.root, call, values);
  if (rank() != call.root) return;
  comm::finish_mean(values.data(), call.values.count, call.values.dtype, call.op, world_size());
}

// All inputs go to the centre, which sends all of them to every rank.
void StarProcessGroup::run_all_gather(const Call& call) {
  comm::copy_bytes(comm::part_of(call.values, rank(), world_size()), comm::bytes_of(call.input));
  if (rank() != kCentre) messages().send_segments(call, kCentre, comm::bytes_of(call.input));
  for (int peer = 0; peer < world_size() && rank() == kCentre; ++peer) {
    if (peer != kCentre) messages().receive_segments(call, peer, comm::part_of(call.values, peer, world_size()));
  }
  send_from(kCentre, call, comm::bytes_of(call.values));
}

// The whole input is reduced at the centre, which sends each rank its part.
void StarProcessGroup::run_reduce_scatter(const Call& call) {
  if (rank() != kCentre) {
    reduce_to(kCentre, call, comm::bytes_of(call.input));
    return messages().receive_segments(call, kCentre, comm::bytes_of(call.values));
  }
  const std::span<std::byte> input = comm::bytes_of(call.input);
  std::vector<std::byte> sums(input.begin(), input.end());  // the input stays unchanged
  reduce_to(kCentre, call, sums);
  comm::finish_mean(sums.data(), call.input.count, call.input.dtype, call.op, world_size());
  const comm::Buffer all{sums.data(), call.input.count, call.input.dtype, Device{}, nullptr};
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer != kCentre) messages().send_segments(call, peer, comm::part_of(all, peer, world_size()));
  }
  comm::copy_bytes(comm::bytes_of(call.values), comm::part_of(all, kCentre, world_size()));
  messages().flush(call);  // before `sums` is destroyed
}

// Every rank reports to the centre; once all have, the centre releases them.
void StarProcessGroup::run_barrier(const Call& call) {
  reduce_to(kCentre, call, {});
  send_from(kCentre, call, {});
}

std::unique_ptr<comm::ProcessGroup> StarProcessGroup::do_split(comm::JobContext context) {
  return make_star_process_group(std::move(context), options_);
}

std::unique_ptr<comm::ProcessGroup> make_star_process_group(comm::JobContext context, const StarOptions& options) {
  return std::make_unique<StarProcessGroup>(std::move(context), options);
}

}  // namespace lockstep::star
