#include "fuzz/net_targets.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "net/frame_stream.hpp"
#include "net/handshake.hpp"
#include "net/handshake_wire.hpp"
#include "net/token.hpp"

namespace lockstep::fuzz {
namespace {

constexpr net::FrameLimits kLimits{4096, 3};
constexpr std::size_t kChecksumOffset = net::kFrameHeaderBytes - 8;  // the header's own checksum is its last field
constexpr std::size_t kPayloadChecksumOffset = kChecksumOffset - 8;
const std::string kToken = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

// Two connected ends that need no network.
struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw IoError("socketpair", errno);
    near = net::StreamSocket(UniqueFd(ends[0]), "stranger");
    far = net::StreamSocket(UniqueFd(ends[1]), "stranger");
  }
  net::StreamSocket near;  // what is tested reads here
  net::StreamSocket far;   // what the input says is written here
};

void put_u64(std::vector<std::byte>& bytes, std::size_t offset, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i, value >>= 8) bytes[offset + i] = static_cast<std::byte>(value & 0xFF);
}

// Random bytes never carry a right checksum: the first byte of an input says which of them to put right.
std::vector<std::byte> with_right_checksums(Input input) {
  if (input.empty()) return {};
  const auto choice = static_cast<unsigned>(input.front());
  std::vector<std::byte> bytes(input.begin() + 1, input.end());  // past the choice
  if (bytes.size() < net::kFrameHeaderBytes) return bytes;
  if ((choice & 1U) != 0) {
    put_u64(bytes, kPayloadChecksumOffset, net::checksum(std::span(bytes).subspan(net::kFrameHeaderBytes)));
  }
  if ((choice & 2U) != 0) put_u64(bytes, kChecksumOffset, net::checksum(std::span(bytes).first(kChecksumOffset)));
  return bytes;
}

std::vector<std::byte> sealed(std::string_view payload, std::byte choice) {
  const net::FrameHeader header{
      .type = net::FrameType::kControl, .generation = kLimits.generation, .source_rank = 1, .sequence = 9};
  const auto head = net::seal(header, net::as_bytes(payload));
  net::ByteWriter writer;
  writer.put(static_cast<std::uint8_t>(choice)).put_bytes(head).put_bytes(net::as_bytes(payload));
  return writer.take();
}

// Writes `bytes` to the far end in pieces whose lengths the bytes themselves choose, and calls `read` after each.
template <typename Read>
void feed(Pair& pair, std::span<const std::byte> bytes, const Read& read) {
  while (!bytes.empty()) {
    const std::size_t wanted = 1 + static_cast<std::size_t>(bytes.front()) % 200;  // 1: every piece has a byte
    const std::size_t count = pair.far.send_some(bytes.first(std::min(wanted, bytes.size())));
    finding_unless(count > 0, "what has been sent is not read");
    bytes = bytes.subspan(count);
    if (!read()) return;
  }
}

}  // namespace

void run_frame(Input input) {
  const std::vector<std::byte> bytes = with_right_checksums(input);
  if (bytes.size() < net::kFrameHeaderBytes) return;
  const auto head = std::span<const std::byte>(bytes).first<net::kFrameHeaderBytes>();
  const auto payload = std::span<const std::byte>(bytes).subspan(net::kFrameHeaderBytes);
  try {
    const net::FrameHeader header = net::open_header(head, kLimits, "stranger");
    finding_unless(header.payload_bytes <= kLimits.max_payload_bytes, "a payload beyond the limit was accepted");
    finding_unless(header.generation == kLimits.generation, "another generation was accepted");
    net::check_payload(head, payload, "stranger");
    if (header.payload_bytes != payload.size()) return;  // the receiver reads as many as the header says, not these
    finding_unless(std::ranges::equal(net::seal(header, payload), head), "a header reads as what it is not");
  } catch (const FormatError&) {
  }
}

Seeds frame_seeds() {
  return {sealed("", std::byte{0}), sealed("some payload", std::byte{0}), sealed("longer payload", std::byte{3})};
}

void run_frame_stream(Input input) {
  const std::vector<std::byte> bytes = with_right_checksums(input);
  Pair pair;
  net::FrameStream stream(std::move(pair.near), kLimits);
  const auto read_all = [&stream] {
    while (const auto frame = stream.receive()) {
      finding_unless(frame->payload.size() <= kLimits.max_payload_bytes, "a payload beyond the limit was accepted");
      finding_unless(net::checksum(frame->payload) == frame->header.payload_checksum, "a damaged payload was accepted");
    }
    return true;
  };
  try {
    feed(pair, bytes, read_all);
    pair.far.close();
    read_all();
    finding_unless(false, "the end of the connection went unnoticed");
  } catch (const FormatError&) {
  } catch (const IoError&) {
  }
}

Seeds frame_stream_seeds() {
  const std::vector<std::byte> second = sealed("second frame", std::byte{0});
  net::ByteWriter two;
  two.put_bytes(sealed("first", std::byte{0})).put_bytes(std::span(second).subspan(1));  // past the choice
  return {sealed("", std::byte{0}), sealed("one frame", std::byte{2}), two.take()};
}

// Input: a choice (1: prove the token, after as many bytes as a hello has), then what the client sends.
void run_handshake(Input input) {
  if (input.empty()) return;
  const bool knows_token = (static_cast<unsigned>(input.front()) & 1U) != 0;
  const Input bytes = input.subspan(1);  // past the choice
  const net::Identity expected{net::Role::kStore, 3, -1, 0};
  Pair pair;
  net::HandshakeServer server(std::move(pair.near), kToken, expected, Deadline::never());
  std::optional<net::Identity> identity;
  const auto read = [&] { return !(identity = server.advance()).has_value(); };
  try {
    const Input hello = bytes.first(std::min(bytes.size(), net::kHelloBytes));
    feed(pair, hello, read);
    if (knows_token && hello.size() == net::kHelloBytes) {
      net::HandshakeTerms terms = net::decode_hello(hello, "stranger");
      std::array<std::byte, net::kChallengeBytes> challenge{};
      pair.far.receive_exactly(challenge, Deadline::never());
      terms.agreed = static_cast<net::FrameProtection>(challenge[net::kVersionBytes]);
      finding_unless(terms.agreed >= terms.wanted, "less protection than was asked for");
      std::ranges::copy(std::span(challenge).last(net::kNonceBytes), terms.server_nonce.begin());
      feed(pair, net::prove_client(kToken, terms), read);
    } else {
      feed(pair, bytes.subspan(hello.size()), read);
      finding_unless(!identity, "somebody was let in without the token");
    }
  } catch (const Error&) {  // refused, with a reason
    return;
  }
  if (!identity) return;
  finding_unless(identity->role == expected.role && identity->generation == expected.generation,
                 "somebody was let in at the wrong door");
}

Seeds handshake_seeds() {
  Seeds seeds;
  for (const net::Role role : {net::Role::kStore, net::Role::kControl}) {
    for (const auto choice : {std::uint8_t{0}, std::uint8_t{1}}) {
      net::HandshakeTerms terms{.client = {role, 3, 2, 77}};
      if (choice == 1) terms.wanted = net::FrameProtection::kMac;
      net::ByteWriter writer;
      writer.put(choice).put_bytes(net::encode_hello(terms)).put_bytes(net::Proof{});
      seeds.push_back(writer.take());
    }
  }
  return seeds;
}

void run_token(Input input) {
  try {
    const std::string token = net::parse_token(net::to_text(input), "a token file");
    finding_unless(token.size() >= 32 && token.size() <= 128, "a token of another length was accepted");
    finding_unless(token.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos, "a token is not of digits");
  } catch (const FormatError&) {
  }
}

Seeds token_seeds() {
  Seeds seeds;
  for (const std::string& text : {kToken, kToken + "\n", kToken + "\r\n", kToken.substr(1), std::string(64, 'G')}) {
    const auto bytes = net::as_bytes(text);
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace lockstep::fuzz
