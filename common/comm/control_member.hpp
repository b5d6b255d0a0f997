#pragma once
// One rank's end of the control plane; not for others.
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/control_plane.hpp"
#include "comm/control_wire.hpp"

namespace lockstep::comm {

class ControlPlane::Member {
 public:
  Member(const JobContext& context, const net::SocketAddress& hub, const Deadline& deadline);
  ~Member();

  [[nodiscard]] int next_group_id() noexcept;
  void on_issued(int group, const Fingerprint& fingerprint) noexcept;
  void on_started(int group, const Fingerprint& fingerprint) noexcept;
  void on_ended(int group) noexcept;
  void abort(const Failure& failure) noexcept;
  [[nodiscard]] std::shared_ptr<const Failure> failure() const noexcept;
  [[nodiscard]] std::shared_ptr<const Failure> wait_for_failure(const Deadline& deadline) const;
  [[nodiscard]] int subscribe(FailureCallback on_failure);
  void unsubscribe(int subscription) noexcept;
  void wait_until_ready(const Deadline& deadline);

  /// Tells the hub that this rank is done (or, while an exception unwinds, that it failed) and ends the thread.
  void leave() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Group {
    Fingerprint issued;
    std::optional<Fingerprint> running;
    Clock::time_point running_since;
    bool is_reported = false;
  };

  void run() noexcept;
  void step();
  void receive();
  void handle(const ControlMessage& message);
  void send_due();
  void check_hub();
  void say_goodbye();
  void wake() noexcept;
  void learn(const Failure& failure);
  [[nodiscard]] RankStatus status_locked() const;

  const JobContext context_;  // without store and control plane
  net::FrameStream stream_;   // this and the next five: the thread's alone once it runs
  Clock::time_point last_heard_;
  Clock::time_point last_sent_;
  Clock::time_point last_step_;
  bool is_hub_gone_ = false;
  RankStatus left_behind_;  // rank 0's last status once it has left

  UniqueFd wake_up_;
  mutable std::mutex mutex_;  // guards what follows, up to callback_mutex_
  mutable std::condition_variable changed_;
  std::map<int, Group> groups_;
  std::vector<ControlMessage> outbox_;
  std::shared_ptr<const Failure> failure_;
  bool is_ready_ = false;
  bool is_leaving_ = false;
  bool has_ended_ = false;
  int next_group_id_ = 0;

  std::mutex callback_mutex_;  // held while callbacks run
  std::map<int, FailureCallback> callbacks_;
  int next_subscription_ = 0;
  std::thread thread_;
};

}  // namespace lockstep::comm
