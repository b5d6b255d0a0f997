#pragma once
// The meeting of all ranks at the store; rendezvous()'s, not for others.
#include <string>

#include "base/deadline.hpp"
#include "comm/joining/init_method.hpp"
#include "store/store.hpp"

namespace lockstep::comm {

// Whoever finds a fault writes it where all others look. Processes that have left a job may meet there again: each
// meeting has keys of its own.
class JoinBarrier {
 public:
  // Both outlive this object.
  JoinBarrier(store::Store& store, const Membership& member) : store_(store), member_(member) {}

  // Returns once all ranks are there.
  // Throws MismatchError: two processes have one rank, or world sizes differ. TimeoutError: names who is missing.
  void check_in(const Deadline& deadline);

  // How many meetings of this job this process has been at before.
  [[nodiscard]] int meetings_before() const noexcept { return meetings_before_; }
  // What all keys of this meeting begin with, without the last slash; empty for the first one.
  [[nodiscard]] std::string renewal() const;

  // Once all are there: the name of that rank's host.
  [[nodiscard]] std::string host_of(int rank, const Deadline& deadline);
  // For rank 0, once all are there: what is not the same on all ranks; empty: nothing.
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
