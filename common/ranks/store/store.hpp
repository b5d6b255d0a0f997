#pragma once
/// @file
/// A small shared dictionary through which the ranks of a job find each other.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.hpp"

namespace lockstep::store {

constexpr std::size_t kMaxKeyBytes = 1024;
constexpr std::size_t kMaxValueBytes = std::size_t{1} << 20;

/// Keys and values that every rank of the job sees. Every call is atomic. Thread safety: any thread; a call waits if
/// another call of the same object is already waiting.
///
/// All calls throw IoError if the store is no longer reachable, and ContractError for a key or value beyond
/// kMaxKeyBytes, kMaxValueBytes.
class Store {
 public:
  virtual ~Store() = default;

  /// Sets the value of `key` for every rank.
  virtual void set(const std::string& key, const std::string& value) = 0;

  /// Waits until `key` exists. @throws TimeoutError  Not by `deadline`; names the key.
  [[nodiscard]] virtual std::string get(const std::string& key, const Deadline& deadline) = 0;

  /// The value if the key exists now; never waits for it.
  [[nodiscard]] virtual std::optional<std::string> try_get(const std::string& key) = 0;

  /// Adds to the integer under `key` (0 if there is none) and returns the sum. Values are decimal text.
  /// @throws FormatError  The value is not an integer.
  virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;

  /// Sets `key` to `desired` if its value is `expected` (empty: if it does not exist).
  /// @return  The value afterwards: `desired` if this call set it.
  virtual std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) = 0;

  /// Waits until all keys exist. @throws TimeoutError  Names those missing at `deadline`.
  virtual void wait(std::span<const std::string> keys, const Deadline& deadline);

  /// @return  True if the key existed.
  virtual bool erase(const std::string& key) = 0;
};

}  // namespace lockstep::store
