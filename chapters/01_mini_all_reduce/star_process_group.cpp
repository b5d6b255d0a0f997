#include "01_mini_all_reduce/star_process_group.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "comm/peer_connections.hpp"
#include "comm/reduce.hpp"
#include "net/frame.hpp"

namespace lockstep::star {

StarProcessGroup::StarProcessGroup(comm::JobContext context, const StarOptions& options)
    : HostProcessGroup(std::move(context)), options_(options) {
  require(options_.segment_bytes >= 8, "segment_bytes is ", options_.segment_bytes, ", less than one element");
  if (world_size() == 1) return;
  const std::array centre{0};
  std::vector<int> others(static_cast<std::size_t>(world_size() - 1));  // all ranks but the centre
  std::iota(others.begin(), others.end(), 1);
  const std::span<const int> nobody;

  comm::PeerConnections peers = comm::connect_peers(
      this->context(), concat("star/", group_id()), is_centre() ? nobody : std::span<const int>(centre),
      is_centre() ? std::span<const int>(others) : nobody, Deadline::after(this->context().limits.join));
  sockets_ = std::move(is_centre() ? peers.incoming : peers.outgoing);
  if (is_centre()) arrived_.resize(static_cast<std::size_t>(options_.segment_bytes));
}

StarProcessGroup::~StarProcessGroup() { shutdown(); }

void StarProcessGroup::run_all_reduce(const Call& call) {
  if (world_size() == 1) return;
  reduce_to_centre(call);
  if (is_centre()) {
    comm::finish_mean(call.values.data, call.values.count, call.values.dtype, call.op, world_size());
  }
  send_from_centre(call);
}

void StarProcessGroup::reduce_to_centre(const Call& call) {
  for (const std::span<std::byte> own : segments_of(call)) {
    if (!is_centre()) {
      send(call, 0, own);
      continue;
    }
    // Rank 1, then 2, ...: the order is fixed, so runs repeat bit for bit; whoever is late is waited for.
    for (const auto& [peer, socket] : sockets_) {
      const std::span<std::byte> theirs = std::span(arrived_).first(own.size());
      receive(call, peer, theirs);
      const auto count = static_cast<std::int64_t>(own.size() / bytes_of(call.values.dtype));
      comm::reduce_into(own.data(), theirs.data(), count, call.values.dtype, call.op);
    }
  }
}

void StarProcessGroup::send_from_centre(const Call& call) {
  for (const std::span<std::byte> part : segments_of(call)) {
    for (const auto& [peer, socket] : sockets_) is_centre() ? send(call, peer, part) : receive(call, peer, part);
  }
}

// A root that is not the centre hands its values to the centre, which sends them to all (to the root as well: it must
// be told that its values have arrived, and that all ranks agree on the call).
void StarProcessGroup::run_broadcast(const Call& call) {
  if (world_size() == 1) return;
  if (call.root != 0) {
    for (const std::span<std::byte> part : segments_of(call)) {
      if (is_centre()) receive(call, call.root, part);
      if (rank() == call.root) send(call, 0, part);
    }
  }
  send_from_centre(call);
}

// Everybody reports to the centre; once all have, it lets them go.
void StarProcessGroup::run_barrier(const Call& call) {
  for (const auto& [peer, socket] : sockets_) is_centre() ? receive(call, peer, {}) : send(call, peer, {});
  for (const auto& [peer, socket] : sockets_) is_centre() ? send(call, peer, {}) : receive(call, peer, {});
}

void StarProcessGroup::interrupt() noexcept {
  for (auto& [peer, socket] : sockets_) socket.shutdown();
}

std::vector<std::span<std::byte>> StarProcessGroup::segments_of(const Call& call) const {
  const auto width = static_cast<std::int64_t>(bytes_of(call.values.dtype));
  const auto most = static_cast<std::size_t>(options_.segment_bytes / width * width);  // whole elements
  std::span<std::byte> rest{static_cast<std::byte*>(call.values.data), static_cast<std::size_t>(call.values.bytes())};
  std::vector<std::span<std::byte>> segments;
  do {
    segments.push_back(rest.first(std::min(most, rest.size())));
    rest = rest.subspan(segments.back().size());
  } while (!rest.empty());
  return segments;
}

void StarProcessGroup::send(const Call& call, int peer, std::span<const std::byte> bytes) {
  net::send_frame(sockets_.at(peer), frame_header(call), bytes, call.deadline);
  payload_bytes_sent_ += bytes.size();
  ++messages_sent_;
}

void StarProcessGroup::receive(const Call& call, int peer, std::span<std::byte> bytes) {
  // The limit is not the size of this rank's values: a peer that called with more of them shall be told so.
  const net::FrameLimits limits{static_cast<std::uint64_t>(options_.segment_bytes),
                                static_cast<std::uint32_t>(context().generation)};
  net::TcpSocket& socket = sockets_.at(peer);
  const net::FrameHeader header = net::receive_header(socket, limits, call.deadline);
  check_same_collective(call, header, peer);
  net::receive_payload(socket, header, bytes, call.deadline);
}

comm::ProcessGroup::Traffic StarProcessGroup::traffic_sent() const {
  const std::uint64_t messages = messages_sent_;
  return {payload_bytes_sent_, messages * net::kFrameHeaderBytes, messages};
}

std::unique_ptr<comm::ProcessGroup> make_star_process_group(comm::JobContext context, const StarOptions& options) {
  return std::make_unique<StarProcessGroup>(std::move(context), options);
}

}  // namespace lockstep::star
