#pragma once
// One rank's end of the control plane: its connection to the hub and the thread that serves it. Internal to this
// module.
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/control/wire.hpp"
#include "comm/host/group_activity.hpp"

namespace lockstep::comm {

// State that the thread shares with the callers of ControlPlane.
struct ControlPlane::Shared {
  std::mutex mutex;  // guards the members below, up to callback_mutex
  std::condition_variable changed;
  GroupActivity activity;
  std::vector<ControlMessage> outbox;
  std::shared_ptr<const Failure> failure;
  std::optional<Failure> last_words;
  bool is_ready = false;
  bool is_leaving = false;
  bool has_ended = false;
  bool has_hub_left = false;  // with a goodbye
  int group_count = 0;        // of all ranks
  int next_split = 0;

  std::mutex callback_mutex;  // held while callbacks run
  std::map<int, FailureCallback> callbacks;
  int next_subscription = 0;
};

class ControlPlane::Member {
 public:
  Member(const JobContext& context, const net::SocketAddress& hub, const Deadline& deadline, Shared& shared);
  ~Member();

  void wait_until_ready(const Deadline& deadline);
  /// Makes the thread send the outbox before the next tick.
  void wake() noexcept;
  /// Tells the hub that this rank is done (or, while an exception unwinds, that it failed) and ends the thread.
  void leave() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  void run() noexcept;
  void step();
  [[nodiscard]] bool has_heard_goodbye() noexcept;
  void receive();
  void handle(const ControlMessage& message);
  void send_due();
  void send_outbox_locked();
  void drop_outbox();
  void check_hub();
  void report_if_asked();
  [[nodiscard]] std::string describe_self() const;
  void say_goodbye();
  void learn(const Failure& failure);

  const JobContext context_;                               // without store and control plane
  const std::shared_ptr<FlightRecorder> flight_recorder_;  // may be null
  net::FrameStream stream_;  // once the thread runs, only it uses this and the next six members
  Clock::time_point last_heard_;
  Clock::time_point last_sent_;
  Clock::time_point last_step_;
  bool is_hub_gone_ = false;
  RankStatus left_behind_;  // rank 0's last status once it has left
  unsigned reports_given_ = 0;

  UniqueFd wake_up_;
  Shared& shared_;
  std::thread thread_;
};

}  // namespace lockstep::comm
