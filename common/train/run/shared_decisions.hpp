#pragma once
/// @file
/// Decisions that one rank makes for all.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::store {
class Store;
}

namespace lockstep::run {

/// Ranks that need the same answers, whether all of them ask or only some, and whenever each of them does. The first
/// rank to ask decides; the others wait until it has. There is no collective, so ranks with different parts of a model
/// may ask for different things. Thread safety: as the store.
class SharedDecisions {
 public:
  /// @param prefix   Of the keys in the store; different for different kinds of decisions.
  /// @param timeout  How long a rank waits for another's decision.
  SharedDecisions(std::shared_ptr<store::Store> store, std::string prefix, int rank, std::chrono::milliseconds timeout);

  /// The decision called `name`: what `decide` returns on the first rank to ask, which must not wait for other ranks.
  /// @throws Error         The decision failed, on any rank; names that rank.
  /// @throws TimeoutError  Another rank began to decide and has not come to an end.
  [[nodiscard]] std::string decide(const std::string& name, const std::function<std::string()>& decide);

  /// A decision that was made.
  struct Made {
    std::string name, decision;
  };
  /// All ranks' decisions since the last call on this object; failed ones are left out.
  [[nodiscard]] std::vector<Made> take_new();

 private:
  [[nodiscard]] std::string wait_for(const std::string& name);
  void publish(const std::string& name, const std::string& answer);

  std::shared_ptr<store::Store> store_;
  std::string prefix_;
  int rank_;
  std::chrono::milliseconds timeout_;
  std::int64_t taken_ = 0;
};

}  // namespace lockstep::run
