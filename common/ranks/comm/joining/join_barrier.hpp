#pragma once
// The barrier of all ranks at the store in rendezvous(). Internal to this module.
#include <string>

#include "base/deadline.hpp"
#include "comm/joining/init_method.hpp"
#include "store/store.hpp"

namespace lockstep::comm {

// A rank that finds a fault writes it to a key that all others read. Processes that have left a job may meet there
// again: each meeting has its own keys.
class JoinBarrier {
 public:
  // Both outlive this object.
  JoinBarrier(store::Store& store, const Membership& member) : store_(store), member_(member) {}

  // Returns once all ranks have arrived.
  // Throws MismatchError: two processes have one rank, or world sizes differ. TimeoutError: names the missing ranks.
  void check_in(const Deadline& deadline);

  // How many earlier meetings of this job this process took part in.
  [[nodiscard]] int meetings_before() const noexcept { return meetings_before_; }
  // The prefix of all keys of this meeting, without the last slash; empty for the first meeting.
  [[nodiscard]] std::string renewal() const;

  // After check_in(): the name of that rank's host.
  [[nodiscard]] std::string host_of(int rank, const Deadline& deadline);
  // For rank 0, after check_in(): the versions that differ between ranks; empty if none.
  [[nodiscard]] std::string differences(const Deadline& deadline);

 private:
  void take_place(const std::string& own);
  void check_world_size();
  [[noreturn]] void fail(const std::string& message);
  void wait_for_verdict(const Deadline& deadline);
  [[nodiscard]] std::string missing_message(const Deadline& deadline);
  [[nodiscard]] std::string who_has_come();

  store::Store& store_;
  const Membership& member_;
  int meetings_before_ = 0;
  std::string prefix_;  // of this meeting's keys
};

}  // namespace lockstep::comm
