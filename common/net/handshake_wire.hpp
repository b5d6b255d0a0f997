#pragma once
// The bytes of the handshake, shared by its two ends; not for others.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/handshake.hpp"

namespace lockstep::net {

constexpr std::uint32_t kHandshakeMagic = 0x48534B4C;  // "LKSH" in the order of the wire
constexpr std::uint16_t kHandshakeVersion = 1;

enum class Side { kClient, kServer };

[[nodiscard]] Nonce make_nonce();
[[nodiscard]] Proof prove(const std::string& token, Side side, const Identity& identity, const Nonce& client_nonce,
                          const Nonce& server_nonce);
// Compares in a time that does not depend on where the proofs differ.
[[nodiscard]] bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

[[nodiscard]] std::vector<std::byte> encode_hello(const Identity& identity, const Nonce& nonce);
// Throws FormatError naming `peer` and what arrived.
[[nodiscard]] std::pair<Identity, Nonce> decode_hello(std::span<const std::byte> bytes, const std::string& peer);

[[nodiscard]] std::string_view name_of(Role role) noexcept;

}  // namespace lockstep::net
