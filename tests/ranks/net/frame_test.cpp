#include "net/frame.hpp"

#include <thread>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/frame_mac.hpp"
#include "net/frame_stream.hpp"
#include "net/loopback_pair.hpp"
#include "support/catch.hpp"
#include "support/soon.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using net::as_bytes;
using net::FrameHeader;
using net::FrameLimits;
using test::soon;

namespace {

constexpr FrameLimits kLimits{1024, 3};

FrameHeader sample_header() {
  FrameHeader header{.type = net::FrameType::kControl, .generation = 3, .source_rank = 2, .sequence = 14};
  header.tag[5] = std::byte{9};
  return header;
}

// A receiver's answer to raw bytes.
std::string answer_to(std::span<const std::byte> bytes) {
  auto pair = test::connect_pair();
  pair.left.send_all(bytes, soon());
  pair.left.close();
  pair.right.set_peer("10.0.0.7:4242");
  try {
    (void)net::receive_frame(pair.right, kLimits, soon());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a frame arrives as it was sent", "[net]") {
  auto pair = test::connect_pair();
  net::send_frame(pair.left, sample_header(), as_bytes("payload"), soon());
  net::send_frame(pair.left, sample_header(), {}, soon());
  const net::Frame frame = net::receive_frame(pair.right, kLimits, soon());
  CHECK(net::to_text(frame.payload) == "payload");
  CHECK(frame.header.type == net::FrameType::kControl);
  CHECK(frame.header.source_rank == 2);
  CHECK(frame.header.sequence == 14);
  CHECK(frame.header.tag == sample_header().tag);
  CHECK(net::receive_frame(pair.right, kLimits, soon()).payload.empty());
}

TEST_CASE("what is no frame is refused by what arrived and from whom", "[net]") {
  const std::string request = "GET /index.html HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a browser\r\n\r\n";
  CHECK(answer_to(as_bytes(request)) ==
        "10.0.0.7:4242 sent \"GET /index.html HTTP/1.1\\x0d\\x0aHost: ...\", which is no Lockstep frame");
  CHECK_THAT(answer_to(std::vector<std::byte>(200, std::byte{0xFF})), ContainsSubstring("no Lockstep frame"));
  CHECK_THAT(answer_to(as_bytes("LCKP")), ContainsSubstring("(4 of 64 bytes received)"));
}

TEST_CASE("a huge length is refused before anything is allocated", "[net]") {
  std::vector<std::byte> payload(1025);
  const auto sealed = net::seal(sample_header(), payload);
  CHECK_THAT(answer_to(sealed), ContainsSubstring("payload of 1025 bytes; at most 1024"));
}

TEST_CASE("every damaged bit of a header and any of the payload is noticed", "[net]") {
  const auto sealed = net::seal(sample_header(), as_bytes("payload"));
  for (std::size_t position = 0; position < net::kFrameHeaderBytes; ++position) {
    auto damaged = sealed;
    damaged[position] ^= std::byte{0x10};
    CHECK_THROWS_AS(net::open_header(damaged, kLimits, "peer"), FormatError);
  }
  CHECK_NOTHROW(net::check_payload(sealed, as_bytes("payload"), "peer"));
  CHECK_THROWS_WITH(net::check_payload(sealed, as_bytes("pay1oad"), "peer"), ContainsSubstring("damaged payload"));
}

namespace {

net::FrameMac::Key key_of(std::uint8_t filling) {
  net::FrameMac::Key key{};
  key.fill(std::byte{filling});
  return key;
}

// Both ends of a connection with authenticated frames.
struct MacPair {
  net::FrameMac left{key_of(1), key_of(2)};
  net::FrameMac right{key_of(2), key_of(1)};
};

// Whether the right end accepts what it gets as its next frame.
bool is_accepted(MacPair& macs, const net::EncodedHeader& header, std::string_view payload) {
  try {
    (void)net::open_header(header, kLimits, "peer", &macs.right);
    net::check_payload(header, as_bytes(payload), "peer", &macs.right);
  } catch (const FormatError&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("with a MAC every changed bit of header and payload is noticed, checksums put right or not", "[net]") {
  for (std::size_t position = 0; position < net::kFrameHeaderBytes; ++position) {
    MacPair macs;
    auto damaged = net::seal(sample_header(), as_bytes("payload"), &macs.left);
    damaged[position] ^= std::byte{0x10};
    CHECK_FALSE(is_accepted(macs, damaged, "payload"));
  }
  MacPair macs;
  CHECK_FALSE(is_accepted(macs, net::seal(sample_header(), as_bytes("payload"), &macs.left), "pay1oad"));
  MacPair others;
  CHECK_FALSE(is_accepted(others, net::seal(sample_header(), as_bytes("payload")), "payload"));  // checksums only
}

TEST_CASE("with a MAC a frame that is repeated, left out, swapped or sent back is refused", "[net]") {
  const auto header = sample_header();
  MacPair macs;
  const auto first = net::seal(header, as_bytes("first"), &macs.left);
  const auto second = net::seal(header, as_bytes("second"), &macs.left);
  CHECK(is_accepted(macs, first, "first"));
  CHECK(is_accepted(macs, second, "second"));
  MacPair repeated;
  CHECK(is_accepted(repeated, first, "first"));
  CHECK_FALSE(is_accepted(repeated, first, "first"));
  MacPair swapped;
  CHECK_FALSE(is_accepted(swapped, second, "second"));
  MacPair reflected;
  CHECK_FALSE(is_accepted(reflected, net::seal(header, as_bytes("first"), &reflected.right), "first"));
}

TEST_CASE("a MAC is AES-256-GCM's tag, whatever the payload's length", "[net]") {
  // Test case 13 of McGrew and Viega's "The Galois/Counter Mode of Operation" (2005), appendix B: a key and an IV of
  // zeros, and neither text nor data.
  net::FrameMac mac(net::FrameMac::Key{}, net::FrameMac::Key{});
  const net::FrameMac::Tag tag = mac.next_sent({}, {});
  CHECK(tag[0] == std::byte{0x53});
  CHECK(tag[1] == std::byte{0x0f});
  CHECK(tag[15] == std::byte{0x8b});
  MacPair macs;
  for (const std::size_t bytes : {0, 1, 15, 16, 17, 1000}) {
    const std::string payload(bytes, 'x');
    CHECK(is_accepted(macs, net::seal(sample_header(), as_bytes(payload), &macs.left), payload));
  }
}

TEST_CASE("a frame of another generation is refused with both numbers", "[net]") {
  FrameHeader stale = sample_header();
  stale.generation = 2;
  CHECK_THAT(answer_to(net::seal(stale, {})), ContainsSubstring("generation 2") && ContainsSubstring("to 3"));
}

TEST_CASE("a stream puts frames together that arrive byte by byte", "[net]") {
  auto pair = test::connect_pair();
  net::FrameStream stream(std::move(pair.right), kLimits);
  const auto payload = as_bytes("payload");
  const auto sealed = net::seal(sample_header(), payload);
  std::vector<std::byte> bytes(sealed.begin(), sealed.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CHECK_FALSE(stream.receive().has_value());
    pair.left.send_all(std::span(bytes).subspan(i, 1), soon());
    REQUIRE(stream.socket().wait_readable(soon()));
  }
  const auto frame = stream.receive();
  REQUIRE(frame.has_value());
  CHECK(net::to_text(frame->payload) == "payload");
}
