#pragma once
/// @file
/// A process group whose all-reduce is what exercises 02.1 and 02.2 ask for.
#include <chrono>
#include <optional>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "exercise/link.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::mine {

/// A ring over TCP, with connections of its own for the learner's all-reduce. Everything but the all-reduce of float32
/// sums and means is ours. The call's deadline and an abort of the job end the learner's code by closing its
/// connections.
class RingGroup final : public ring::RingProcessGroup {
 public:
  /// Connects to both neighbours. @throws  As ring::RingProcessGroup.
  explicit RingGroup(const comm::JobContext& context);
  ~RingGroup() override;

  [[nodiscard]] std::string_view backend() const noexcept override { return "exercises 02.1 and 02.2"; }

  /// From now on the all-reduce is ours (false) or the learner's. The same on all ranks; no call is under way.
  void use_learners(bool is_used) noexcept { uses_learners_ = is_used; }

 private:
  void run_all_reduce(const Call& call) override;
  void interrupt() noexcept override;
  void connect();

  net::StreamSocket next_socket_, previous_socket_;
  std::optional<exercise::Link> next_, previous_;  // on duplicates of the sockets' descriptors
  bool uses_learners_ = true;
};

}  // namespace lockstep::mine
