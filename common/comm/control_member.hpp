#pragma once
// One rank's end of the control plane; not for others.
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/control_plane.hpp"
#include "comm/control_wire.hpp"
#include "comm/group_activity.hpp"

namespace lockstep::comm {

class ControlPlane::Member {
 public:
  Member(const JobContext& context, const net::SocketAddress& hub, const Deadline& deadline);
  ~Member();

  [[nodiscard]] int next_group_id() noexcept;
  [[nodiscard]] int next_split() const noexcept;
  [[nodiscard]] int take_part_in_split(int split, int first_member) noexcept;
  void register_group(int group, std::vector<int> members);
  void forget_group(int group) noexcept;
  void on_issued(int group, const Fingerprint& fingerprint) noexcept;
  void on_started(int group, const Fingerprint& fingerprint) noexcept;
  void on_ended(int group) noexcept;
  void on_pair_started(int group, const Fingerprint& operation) noexcept;
  void on_pair_ended(int group, const Fingerprint& operation) noexcept;
  void post(int group, const Fingerprint& call);
  void wait_until_agreed(int group, const Fingerprint& call, const Deadline& deadline) const;
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
  void run() noexcept;
  void step();
  void receive();
  void handle(const ControlMessage& message);
  void send_due();
  void send_outbox_locked();
  void check_hub();
  void report_if_asked();
  [[nodiscard]] std::string describe_self() const;
  void say_goodbye();
  void wake() noexcept;
  void learn(const Failure& failure);

  const JobContext context_;                               // without store and control plane
  const std::shared_ptr<FlightRecorder> flight_recorder_;  // may be null
  net::FrameStream stream_;                                // this and the next six: the thread's alone once it runs
  Clock::time_point last_heard_;
  Clock::time_point last_sent_;
  Clock::time_point last_step_;
  bool is_hub_gone_ = false;
  RankStatus left_behind_;  // rank 0's last status once it has left
  unsigned reports_given_ = 0;

  UniqueFd wake_up_;
  mutable std::mutex mutex_;  // guards what follows, up to callback_mutex_
  mutable std::condition_variable changed_;
  GroupActivity activity_;
  std::vector<ControlMessage> outbox_;
  std::shared_ptr<const Failure> failure_;
  bool is_ready_ = false;
  bool is_leaving_ = false;
  bool has_ended_ = false;
  bool has_hub_left_ = false;  // with a goodbye
  int group_count_ = 0;        // of all ranks
  int next_split_ = 0;

  std::mutex callback_mutex_;  // held while callbacks run
  std::map<int, FailureCallback> callbacks_;
  int next_subscription_ = 0;
  std::thread thread_;
};

}  // namespace lockstep::comm
