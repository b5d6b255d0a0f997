#pragma once
/// @file
/// A message authentication code (MAC) for the frames of a connection between hosts: an attacker who can change packets
/// on the network cannot change, repeat, drop or reorder frames unnoticed.
/// @source NIST SP 800-38D (GMAC): the tag of AES-256-GCM over unencrypted data. Processors have instructions for it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct evp_cipher_ctx_st;  // OpenSSL's

namespace lockstep::net {

/// Makes and checks the tags of one connection. Each direction has its own key and counts its frames; the tag covers
/// the number. Thread safety: one thread sends and one receives at a time.
class FrameMac {
 public:
  using Key = std::array<std::byte, 32>;  ///< Secret, and for one connection only.
  using Tag = std::array<std::byte, 16>;  ///< Sent in the frame's header.

  /// @param sending  The other end's `receiving`, and vice versa.
  /// @throws Error  OpenSSL fails.
  FrameMac(const Key& sending, const Key& receiving);

  /// The tag of the next frame to send. @param header  Without the tag. @cost  One pass over the payload.
  [[nodiscard]] Tag next_sent(std::span<const std::byte> header, std::span<const std::byte> payload);
  /// True if `tag` belongs to the next frame to arrive. @cost  One pass over the payload.
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
