#pragma once
/// @file
/// What judge and judged process say to each other: JSON values with binary arrays, as CBOR, behind their length.
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

/// The longest message: more is no answer to any question of ours.
inline constexpr std::size_t kLongestMessage = std::size_t{1} << 26;

/// Sends a message; returns when all of it is taken. @throws IoError  The other end has closed.
void send_message(int fd, const nlohmann::json& message);

/// The same, for a process that may not be reading.
/// @return  False if not all of it was taken by then. @throws IoError  The other end has closed.
[[nodiscard]] bool send_message_until(int fd, const nlohmann::json& message, std::chrono::steady_clock::time_point end);

/// What a reader accepts. Values without an array's type cost many times their bytes in memory.
struct MessageLimits {
  std::size_t bytes = kLongestMessage;                           ///< Of a message.
  std::size_t values = std::numeric_limits<std::size_t>::max();  ///< In a message, names included.
};

/// Puts messages together from bytes as they arrive. A value type.
class MessageReader {
 public:
  /// @param limits  Beyond them a message is refused.
  explicit MessageReader(const MessageLimits& limits = {}) : limits_(limits) {}

  /// Reads what has arrived, without waiting.
  /// @return  False at the end of the stream. @throws IoError  Reading failed.
  bool read_from(int fd);
  /// A complete message, once. @throws FormatError  What arrived is none.
  [[nodiscard]] std::optional<nlohmann::json> take();
  /// Length of the message that was taken, in bytes; 0: none.
  [[nodiscard]] std::size_t taken_bytes() const noexcept { return taken_bytes_; }
  /// All that has arrived so far.
  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return received_bytes_; }

 private:
  MessageLimits limits_;
  std::size_t taken_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  std::vector<std::uint8_t> bytes_;
};

/// A message's array of numbers: bytes, with a tag that says of which type. T is float, double or a fixed-width
/// integer.
template <typename T>
[[nodiscard]] nlohmann::json to_message(std::span<const T> values);

/// The numbers back.
/// @throws FormatError  It is no array of T.
template <typename T>
[[nodiscard]] std::vector<T> numbers_in(const nlohmann::json& value);

/// Whether it is an array of T.
template <typename T>
[[nodiscard]] bool holds(const nlohmann::json& value);

}  // namespace lockstep::exercise
