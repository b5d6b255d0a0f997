#pragma once
/// @file
/// A message authentication code (MAC) for the frames of a connection that leaves this host: somebody who can change
/// packets on the way cannot change, repeat, drop or reorder frames unnoticed.
/// @source NIST SP 800-38D (GMAC). It is the tag of AES-256-GCM over data that is not encrypted, and processors have
///         instructions for it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct evp_cipher_ctx_st;  // OpenSSL's

namespace lockstep::net {

/// Makes and checks the tags of one connection. Every direction has a key of its own and counts its frames; the number
/// is part of what a tag covers. Thread safety: one thread sends and one receives at a time.
class FrameMac {
 public:
  using Key = std::array<std::byte, 32>;  ///< Secret, and never used for a second connection.
  using Tag = std::array<std::byte, 16>;  ///< Travels in the frame's header.

  /// @param sending    The other end's `receiving`, and the other way round.
  /// @throws Error  OpenSSL cannot do it.
  FrameMac(const Key& sending, const Key& receiving);

  /// The tag of the next frame to be sent. @param header  Without the tag. @cost  One pass over the payload.
  [[nodiscard]] Tag next_sent(std::span<const std::byte> header, std::span<const std::byte> payload);
  /// Whether `tag` is that of the next frame to arrive. @cost  One pass over the payload.
  [[nodiscard]] bool is_next_received(std::span<const std::byte> header, std::span<const std::byte> payload,
                                      std::span<const std::byte, 16> tag);

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* cipher) const noexcept;
  };
  struct Direction {
    explicit Direction(const Key& key);
    Tag next(std::span<const std::byte> header, std::span<const std::byte> payload);

    std::unique_ptr<evp_cipher_ctx_st, Free> cipher;
    std::uint64_t number = 0;  // of the next frame
  };

  Direction sending_;
  Direction receiving_;
};

}  // namespace lockstep::net
