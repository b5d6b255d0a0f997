// How RingProcessGroup reaches its neighbours, and counts what it sends them. The ring itself is in
// ring_process_group.cpp.
#include <array>
#include <utility>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "base/error.hpp"
#include "comm/peer_connections.hpp"
#include "net/exchange.hpp"

namespace lockstep::ring {

RingProcessGroup::RingProcessGroup(comm::JobContext context, const RingOptions& options)
    : HostProcessGroup(std::move(context)), options_(options) {
  require(options_.segment_bytes >= 8, "segment_bytes is ", options_.segment_bytes, ", less than one element");
  if (world_size() == 1) return;
  const std::array to{next_of(rank(), world_size())};
  const std::array from{previous_of(rank(), world_size())};
  comm::PeerConnections peers = comm::connect_peers(this->context(), concat("ring/", group_id()), to, from,
                                                    Deadline::after(this->context().limits.join));
  right_ = std::move(peers.outgoing.at(to[0]));
  left_ = std::move(peers.incoming.at(from[0]));
  arrived_.resize(static_cast<std::size_t>(options_.segment_bytes));
}

RingProcessGroup::~RingProcessGroup() { shutdown(); }

void RingProcessGroup::interrupt() noexcept {
  right_.shutdown();
  left_.shutdown();
}

void RingProcessGroup::exchange(const Call& call, std::span<const std::byte> to_right, std::span<std::byte> from_left) {
  net::exchange_frames(right_, frame_header(call), to_right, left_, limits(), from_left, call.deadline,
                       [&](const net::FrameHeader& header) { check_left(call, header); });
  count_sent(to_right.size());
}

void RingProcessGroup::send_right(const Call& call, std::span<const std::byte> bytes) {
  net::send_frame(right_, frame_header(call), bytes, call.deadline);
  count_sent(bytes.size());
}

void RingProcessGroup::receive_left(const Call& call, std::span<std::byte> bytes) {
  const net::FrameHeader header = net::receive_header(left_, limits(), call.deadline);
  check_left(call, header);
  net::receive_payload(left_, header, bytes, call.deadline);
}

// Not the size of this rank's values: a neighbour that called with more of them shall be told so, by check_left.
net::FrameLimits RingProcessGroup::limits() const noexcept {
  return {static_cast<std::uint64_t>(options_.segment_bytes), static_cast<std::uint32_t>(context().generation)};
}

void RingProcessGroup::check_left(const Call& call, const net::FrameHeader& header) const {
  check_same_collective(call, header, previous_of(rank(), world_size()));
}

void RingProcessGroup::count_sent(std::size_t payload_bytes) noexcept {
  payload_bytes_sent_ += payload_bytes;
  ++messages_sent_;
}

comm::ProcessGroup::Traffic RingProcessGroup::traffic_sent() const {
  const std::uint64_t messages = messages_sent_;
  return {payload_bytes_sent_, messages * net::kFrameHeaderBytes, messages};
}

std::unique_ptr<comm::ProcessGroup> make_ring_process_group(comm::JobContext context, const RingOptions& options) {
  return std::make_unique<RingProcessGroup>(std::move(context), options);
}

}  // namespace lockstep::ring
