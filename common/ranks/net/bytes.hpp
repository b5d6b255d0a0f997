#pragma once
/// @file
/// Integers and strings as bytes, little-endian on every machine. All data on the wire is encoded here.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::net {

/// The bytes of `text`, without a copy.
[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// `bytes` as a string, copied.
[[nodiscard]] inline std::string to_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// At most the first 32 of `bytes` for a message: printable characters unchanged, others as hexadecimal escapes.
[[nodiscard]] std::string printable(std::span<const std::byte> bytes);

/// Appends values to a growing vector of bytes.
class ByteWriter {
 public:
  template <std::integral T>
  /// Appends an integer, little-endian.
  ByteWriter& put(T value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8) bytes_.push_back(static_cast<std::byte>(bits & 0xFF));
    return *this;
  }
  /// Appends bytes unchanged.
  ByteWriter& put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// Appends a 4-byte length, then the text.
  ByteWriter& put_text(std::string_view text) {
    return put(static_cast<std::uint32_t>(text.size())).put_bytes(as_bytes(text));
  }

  /// All bytes so far.
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  /// All bytes so far; leaves the writer empty.
  [[nodiscard]] std::vector<std::byte> take() noexcept { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads values in the order in which they were written.
class ByteReader {
 public:
  /// @param bytes  Must outlive the reader.
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  /// @throws FormatError  Fewer than sizeof(T) bytes are left.
  template <std::integral T>
  [[nodiscard]] T get() {
    const std::span<const std::byte> raw = get_bytes(sizeof(T));
    std::uint64_t bits = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) bits = (bits << 8) | static_cast<std::uint64_t>(raw[i]);
    return static_cast<T>(bits);
  }
  /// @throws FormatError  Fewer than `count` bytes are left.
  [[nodiscard]] std::span<const std::byte> get_bytes(std::size_t count);
  /// A text written by put_text(). @throws FormatError  Fewer bytes are left than its length.
  [[nodiscard]] std::string get_text() { return to_text(get_bytes(get<std::uint32_t>())); }
  /// The unread bytes.
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace lockstep::net
