#pragma once
/// @file
/// The simplest backend that can be right, for tests of what all backends share: every rank sends to rank 0, which
/// adds up and sends back. Kept apart from the chapters' backends so that comm is tested without them.
#include <cstring>
#include <numeric>
#include <vector>

#include "comm/host_process_group.hpp"
#include "comm/peer_connections.hpp"
#include "net/frame.hpp"

namespace lockstep::test {

/// Sums int64 over a star of sockets.
class LineProcessGroup final : public comm::HostProcessGroup {
 public:
  explicit LineProcessGroup(comm::JobContext context) : HostProcessGroup(std::move(context)) {
    std::vector<int> others(static_cast<std::size_t>(world_size() - 1));
    std::iota(others.begin(), others.end(), 1);
    const std::vector<int> hub{0};
    const std::string name = concat("line/", group_id());
    const auto deadline = Deadline::after(this->context().limits.join);
    peers_ = rank() == 0 ? comm::connect_peers(this->context(), name, {}, others, deadline)
                         : comm::connect_peers(this->context(), name, hub, {}, deadline);
  }
  ~LineProcessGroup() override { shutdown(); }

  [[nodiscard]] std::string_view backend() const noexcept override { return "line"; }
  [[nodiscard]] Traffic traffic_sent() const override { return {}; }

 private:
  void run_all_reduce(const Call& call) override {
    const auto values = call.values.span<std::int64_t>();
    if (rank() == 0) {
      std::vector<std::int64_t> part(values.size());
      for (auto& [peer, socket] : peers_.incoming) {
        receive(call, socket, peer, part);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += part[i];
      }
    }
    exchange_result(call, values);
  }
  void run_broadcast(const Call& call) override { exchange_result(call, call.values.span<std::int64_t>(), 0); }
  void run_barrier(const Call& call) override {
    if (rank() == 0) {
      for (auto& [peer, socket] : peers_.incoming) receive(call, socket, peer, {});
    }
    exchange_result(call, {});
  }

  void interrupt() noexcept override {
    for (auto& [peer, socket] : peers_.incoming) socket.shutdown();
    for (auto& [peer, socket] : peers_.outgoing) socket.shutdown();
  }

  // Ranks send theirs unless only rank 0's counts, then rank 0 sends the result to all.
  void exchange_result(const Call& call, std::span<std::int64_t> values, int is_reduced = 1) {
    for (auto& [peer, socket] : peers_.outgoing) {
      if (is_reduced == 1) net::send_frame(socket, frame_header(call), std::as_bytes(values), call.deadline);
      receive(call, socket, peer, values);
    }
    for (auto& [peer, socket] : peers_.incoming) {
      net::send_frame(socket, frame_header(call), std::as_bytes(values), call.deadline);
    }
  }

  void receive(const Call& call, net::TcpSocket& socket, int peer, std::span<std::int64_t> values) {
    const net::FrameHeader header = net::receive_header(socket, {std::uint64_t{1} << 30, 0}, call.deadline);
    check_same_collective(call, header, peer);
    net::receive_payload(socket, header, std::as_writable_bytes(values), call.deadline);
  }

  comm::PeerConnections peers_;
};

}  // namespace lockstep::test
