#pragma once
// The bytes of the handshake, shared by its two ends. Internal to this module.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/frame_mac.hpp"
#include "net/handshake.hpp"

namespace lockstep::net {

constexpr std::uint32_t kHandshakeMagic = 0x48534B4C;  // "LKSH" in the order of the wire
constexpr std::uint16_t kHandshakeVersion = 2;
constexpr std::size_t kVersionBytes = 6;  // magic and version; all versions have these, and equally long hellos

[[nodiscard]] Nonce make_nonce();
[[nodiscard]] Proof prove_client(const std::string& token, const HandshakeTerms& terms);
// The listener's proof, which also covers its verdict and its generation.
[[nodiscard]] Proof prove_server(const std::string& token, const HandshakeTerms& terms, HandshakeVerdict verdict,
                                 std::uint32_t generation);
// Compares in constant time, wherever the proofs differ.
[[nodiscard]] bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

enum class Side { kClient, kServer };
// The connection's FrameMac for this side; null if checksums were agreed on.
[[nodiscard]] std::unique_ptr<FrameMac> make_frame_mac(const std::string& token, const HandshakeTerms& terms,
                                                       Side side);

[[nodiscard]] std::vector<std::byte> encode_hello(const HandshakeTerms& terms);
// Reads client, wanted and client_nonce. Throws FormatError naming `peer` and the received bytes.
[[nodiscard]] HandshakeTerms decode_hello(std::span<const std::byte> bytes, const std::string& peer);

// Throws FormatError if a message's version, its fifth and sixth byte, differs from this program's.
void check_version(std::uint16_t version, const std::string& peer);

}  // namespace lockstep::net
