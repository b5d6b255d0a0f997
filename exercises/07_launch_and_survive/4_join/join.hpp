#pragma once
/// @file
/// Given: the store at which ranks meet, and how joining ends (exercise 07.4).
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "exercise/todo.hpp"

namespace lockstep::elastic {

/// Keys and values that all processes see: the part of store::Store that is needed here. Each call is atomic, but
/// between two calls of one process others may make theirs.
class KeyValueStore {
 public:
  KeyValueStore() = default;
  virtual ~KeyValueStore() = default;
  KeyValueStore(const KeyValueStore&) = delete;
  KeyValueStore& operator=(const KeyValueStore&) = delete;

  /// Makes `value` what everybody sees under `key`.
  virtual void set(const std::string& key, const std::string& value) = 0;

  /// The value, or nothing if the key does not exist now.
  [[nodiscard]] virtual std::optional<std::string> try_get(const std::string& key) = 0;

  /// The value, once the key exists. @throws TimeoutError  It does not by the deadline for joining.
  virtual std::string wait(const std::string& key) = 0;

  /// Adds to the number under `key`, 0 if there is none. @return  The sum.
  virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;

  /// Sets the key to `desired` if its value is `expected` (empty: if it does not exist).
  /// @return  The value afterwards: `desired` if this call has set it.
  virtual std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) = 0;
};

/// The key that holds the number of the newest generation, in decimal digits. The launcher sets it before it starts the
/// ranks of that generation.
inline constexpr const char* kNewestGeneration = "newest_generation";

/// A process that asks to join.
struct Member {
  std::string process = {};  ///< Its name, such as "process 4711 on node3": no other process has it.
  int rank = 0;              ///< As its environment says.
  int world_size = 1;        ///< As its environment says.
  int generation = 0;        ///< That it was started for.
};

/// Why a process may not join.
enum class Refusal {
  kOldGeneration,  ///< The launcher has started a newer one.
  kWorldSize,      ///< Another process of the generation, which came earlier, has been told another world size.
  kRankTaken       ///< Another process of the generation, which came earlier, has this rank.
};

/// A process that may not join, and must end.
class JoinRefused : public MismatchError {
 public:
  /// @param refusal  Why. @param message  For people.
  JoinRefused(Refusal refusal, const std::string& message) : MismatchError(message), refusal_(refusal) {}
  /// Why.
  [[nodiscard]] Refusal refusal() const noexcept { return refusal_; }

 private:
  Refusal refusal_;
};

/// The deadline has passed, and not all ranks have come.
class JoinTimeout : public TimeoutError {
 public:
  /// @param missing  The ranks that have not come, in ascending order. @param message  For people.
  JoinTimeout(std::vector<int> missing, const std::string& message)
      : TimeoutError(message), missing_(std::move(missing)) {}
  /// The ranks that have not come, in ascending order.
  [[nodiscard]] const std::vector<int>& missing() const noexcept { return missing_; }

 private:
  std::vector<int> missing_;
};

// The three functions to be written.

/// The key under which the processes of member's generation keep `name`. No other generation uses it.
[[nodiscard]] std::string key_of(const Member& member, const std::string& name);

/// Returns when one process of each rank of the generation has called this function.
///
/// A process that is refused has no influence on the others. The store also holds what earlier generations have left.
/// @throws JoinRefused  The process is not one of them; the first reason of Refusal that holds.
/// @throws JoinTimeout  Not all have come by the store's deadline.
void join(KeyValueStore& store, const Member& member);

/// The ranks of member's generation that no process has, in ascending order. Waits for nobody.
[[nodiscard]] std::vector<int> missing_ranks(KeyValueStore& store, const Member& member);

}  // namespace lockstep::elastic
