#pragma once
/// @file
/// The simplest backend that can be right, for tests of what all backends share: every rank sends to rank 0, which
/// adds up and sends back. Kept apart from the chapters' backends so that comm is tested without them.
#include <set>
#include <vector>

#include "comm/host/host_process_group.hpp"
#include "comm/host/tcp_transport.hpp"

namespace lockstep::test {

/// Sums int64 through rank 0; all_gather too, which split() needs. Everything else that a backend must offer does
/// nothing.
class LineProcessGroup final : public comm::HostProcessGroup {
 public:
  /// @param compares_messages  False: as a backend whose messages do not say which collective they belong to.
  explicit LineProcessGroup(comm::JobContext context, bool compares_messages = true)
      : HostProcessGroup(std::move(context)), compares_messages_(compares_messages) {
    std::set<int> peers;
    for (int peer = 0; peer < world_size(); ++peer) {
      if ((rank() == 0) != (peer == 0)) peers.insert(peer);
    }
    auto transport = std::make_unique<comm::TcpTransport>(this->context(), concat("line/", group_id()), peers,
                                                          Deadline::after(this->context().limits.join));
    transport_ = transport.get();
    use(std::move(transport), 64 * 1024);
  }
  ~LineProcessGroup() override { shutdown(); }

  [[nodiscard]] std::string_view backend() const noexcept override { return "line"; }

  /// The base class's connections: for tests that break them.
  [[nodiscard]] comm::Transport& transport() noexcept { return *transport_; }

 private:
  [[nodiscard]] bool compares_messages() const noexcept override { return compares_messages_; }
  void run_all_reduce(const Call& call) override {
    const auto values = call.values.span<std::int64_t>();
    std::vector<std::int64_t> part(values.size());
    for (int peer = 1; peer < world_size() && rank() == 0; ++peer) {
      messages().receive(call, peer, std::as_writable_bytes(std::span(part)));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += part[i];
    }
    if (rank() != 0) messages().send(call, 0, comm::bytes_of(call.values));
    run_broadcast(call);
  }
  void run_broadcast(const Call& call) override {
    if (rank() != 0) return messages().receive(call, 0, comm::bytes_of(call.values));
    for (int peer = 1; peer < world_size(); ++peer) messages().send(call, peer, comm::bytes_of(call.values));
  }
  void run_barrier(const Call& call) override { run_all_reduce(call); }
  void run_all_gather(const Call& call) override {
    for (int part = 0; part < world_size(); ++part) {
      const auto bytes = comm::part_of(call.values, part, world_size());
      if (rank() == part) comm::copy_bytes(bytes, comm::bytes_of(call.input));
      if (part != 0 && rank() == 0) messages().receive(call, part, bytes);
      if (part != 0 && rank() == part) messages().send(call, 0, bytes);
    }
    run_broadcast(call);
  }
  void run_reduce(const Call&) override {}
  void run_reduce_scatter(const Call&) override {}
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override {
    return std::make_unique<LineProcessGroup>(std::move(context), compares_messages_);
  }

  bool compares_messages_;
  comm::Transport* transport_ = nullptr;
};

}  // namespace lockstep::test
