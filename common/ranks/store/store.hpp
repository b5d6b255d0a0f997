#pragma once
/// @file
/// A small shared dictionary by which the ranks of a job find each other.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.hpp"

namespace lockstep::store {

/// Longest key.
constexpr std::size_t kMaxKeyBytes = 1024;
/// Longest value.
constexpr std::size_t kMaxValueBytes = std::size_t{1} << 20;

/// Keys and values that every rank of the job sees. Every call is atomic. Thread safety: any thread; a call waits for
/// one that is already waiting in the same object.
///
/// All calls throw IoError where the store cannot be reached any more, and ContractError for a key or value beyond
/// kMaxKeyBytes, kMaxValueBytes.
class Store {
 public:
  virtual ~Store() = default;

  /// Makes `value` what every rank sees under `key`.
  virtual void set(const std::string& key, const std::string& value) = 0;

  /// Waits until `key` exists. @throws TimeoutError  It does not by `deadline`; names the key.
  [[nodiscard]] virtual std::string get(const std::string& key, const Deadline& deadline) = 0;

  /// The value where the key exists now; never waits for the key.
  [[nodiscard]] virtual std::optional<std::string> try_get(const std::string& key) = 0;

  /// Adds to the integer under `key` (0 where there is none) and returns the sum. Values are decimal text.
  /// @throws FormatError  The value is no integer.
  virtual std::int64_t add(const std::string& key, std::int64_t amount) = 0;

  /// Sets `key` to `desired` where its value is `expected` (empty: where it does not exist).
  /// @return  The value afterwards: `desired` if this call set it.
  virtual std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) = 0;

  /// Waits until all keys exist. @throws TimeoutError  Names those that do not by `deadline`.
  virtual void wait(std::span<const std::string> keys, const Deadline& deadline);

  /// @return  Whether the key existed.
  virtual bool erase(const std::string& key) = 0;
};

}  // namespace lockstep::store
