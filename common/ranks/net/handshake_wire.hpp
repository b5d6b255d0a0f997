#pragma once
// The bytes of the handshake, shared by its two ends; not for others.
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
constexpr std::size_t kVersionBytes = 6;  // magic and version: the same in all versions, as is the length of a hello

[[nodiscard]] Nonce make_nonce();
[[nodiscard]] Proof prove_client(const std::string& token, const HandshakeTerms& terms);
// Of the listener, which says in the same breath how it has judged and of which generation it is.
[[nodiscard]] Proof prove_server(const std::string& token, const HandshakeTerms& terms, HandshakeVerdict verdict,
                                 std::uint32_t generation);
// Compares in a time that does not depend on where the proofs differ.
[[nodiscard]] bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

enum class Side { kClient, kServer };
// The connection's FrameMac as this side needs it; null where checksums were agreed on.
[[nodiscard]] std::unique_ptr<FrameMac> make_frame_mac(const std::string& token, const HandshakeTerms& terms,
                                                       Side side);

[[nodiscard]] std::vector<std::byte> encode_hello(const HandshakeTerms& terms);
// Client, wanted and client_nonce. Throws FormatError naming `peer` and what arrived.
[[nodiscard]] HandshakeTerms decode_hello(std::span<const std::byte> bytes, const std::string& peer);

// Throws FormatError where the version of a message, its fifth and sixth byte, is not this program's.
void check_version(std::uint16_t version, const std::string& peer);

}  // namespace lockstep::net
