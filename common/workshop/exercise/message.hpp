#pragma once
/// @file
/// Messages between judge and judged process: JSON values with binary arrays, as CBOR, preceded by their length.
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::exercise {

/// The longest message; no valid answer is longer.
inline constexpr std::size_t kLongestMessage = std::size_t{1} << 26;

/// Sends a message; returns when all bytes are sent. @throws IoError  The other end has closed.
void send_message(int fd, const nlohmann::json& message);

/// The same, for a process that may not be reading.
/// @return  False if not all bytes were sent by then. @throws IoError  The other end has closed.
[[nodiscard]] bool send_message_until(int fd, const nlohmann::json& message, std::chrono::steady_clock::time_point end);

/// Limits on received messages. Values outside of typed arrays use many times their encoded size in memory.
struct MessageLimits {
  std::size_t bytes = kLongestMessage;                           ///< Per message.
  std::size_t values = std::numeric_limits<std::size_t>::max();  ///< Per message, names included.
};

/// Reassembles messages from bytes as they arrive. A value type.
class MessageReader {
 public:
  /// @param limits  Larger messages are refused.
  explicit MessageReader(const MessageLimits& limits = {}) : limits_(limits) {}

  /// Reads available bytes without waiting.
  /// @return  False at the end of the stream. @throws IoError  Reading failed.
  bool read_from(int fd);
  /// Returns each complete message once. @throws FormatError  The received bytes are not a message.
  [[nodiscard]] std::optional<nlohmann::json> take();
  /// Length of the last message taken, in bytes; 0: none.
  [[nodiscard]] std::size_t taken_bytes() const noexcept { return taken_bytes_; }
  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return received_bytes_; }

 private:
  MessageLimits limits_;
  std::size_t taken_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  std::vector<std::uint8_t> bytes_;
};

/// A message's array of numbers: bytes with a tag for their type. T is float, double or a fixed-width integer.
template <typename T>
[[nodiscard]] nlohmann::json to_message(std::span<const T> values);

/// The reverse. @throws FormatError  It is not an array of T.
template <typename T>
[[nodiscard]] std::vector<T> numbers_in(const nlohmann::json& value);

/// True if it is an array of T.
template <typename T>
[[nodiscard]] bool holds(const nlohmann::json& value);

}  // namespace lockstep::exercise
