#pragma once
/// @file
/// Integers and strings as bytes, little-endian whatever the machine: the one way anything reaches the wire.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::net {

/// The bytes of `text`, not copied.
[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// `bytes` as a string, copied.
[[nodiscard]] inline std::string to_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The first bytes of `bytes` for a message: printable characters as they are, others as hexadecimal escapes; at most
/// 32 bytes.
[[nodiscard]] std::string printable(std::span<const std::byte> bytes);

/// Appends values to a growing vector of bytes.
class ByteWriter {
 public:
  template <std::integral T>
  /// Appends an integer, little end first.
  ByteWriter& put(T value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8) bytes_.push_back(static_cast<std::byte>(bits & 0xFF));
    return *this;
  }
  /// Appends bytes as they are.
  ByteWriter& put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  /// A length of four bytes, then the text.
  ByteWriter& put_text(std::string_view text) {
    return put(static_cast<std::uint32_t>(text.size())).put_bytes(as_bytes(text));
  }

  /// What has been written.
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  /// What has been written, leaving nothing.
  [[nodiscard]] std::vector<std::byte> take() noexcept { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads values back in the order they were put. The bytes must outlive the reader.
class ByteReader {
 public:
  /// @param bytes  Must outlive the reader.
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  /// @throws FormatError  Fewer bytes are left than T has.
  template <std::integral T>
  [[nodiscard]] T get() {
    const std::span<const std::byte> raw = get_bytes(sizeof(T));
    std::uint64_t bits = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) bits = (bits << 8) | static_cast<std::uint64_t>(raw[i]);
    return static_cast<T>(bits);
  }
  /// @throws FormatError  Fewer than `count` bytes are left.
  [[nodiscard]] std::span<const std::byte> get_bytes(std::size_t count);
  /// A text as put_text wrote it. @throws FormatError  Fewer bytes are left than its length says.
  [[nodiscard]] std::string get_text() { return to_text(get_bytes(get<std::uint32_t>())); }
  /// What has not been read yet.
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace lockstep::net
