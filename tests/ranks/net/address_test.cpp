#include "net/address.hpp"

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "support/catch.hpp"

using lockstep::FormatError;
using lockstep::net::is_loopback;
using lockstep::net::SocketAddress;

TEST_CASE("an address reads what it writes", "[net]") {
  for (const SocketAddress& address : {SocketAddress{"127.0.0.1", 29500}, SocketAddress{"::1", 1},
                                       SocketAddress{"fe80::1%eth0", 65535}, SocketAddress{"node-0.train", 80}}) {
    CHECK(SocketAddress::parse(address.text()) == address);
  }
  CHECK(SocketAddress{"::1", 80}.text() == "[::1]:80");
}

TEST_CASE("an address without a port, or with one that is none, is refused", "[net]") {
  for (const char* text :
       {"", "localhost", ":80", "localhost:", "localhost:x", "localhost:65536", "localhost:-1", "[]:80"}) {
    CHECK_THROWS_AS(SocketAddress::parse(text), FormatError);
  }
}

TEST_CASE("an IPv6 address without brackets is refused: which colon begins the port?", "[net]") {
  for (const char* text : {"::1:80", "fd00::1:29500", "[fd00::1:29500", "fd00::1]:29500"}) {
    CHECK_THROWS_WITH(SocketAddress::parse(text), ContainsSubstring("in brackets"));
  }
}

TEST_CASE("a link-local address is written with this host's own interface", "[net]") {
  using lockstep::net::as_seen_from;
  const SocketAddress published{"fe80::1%ib0", 7};
  CHECK(as_seen_from("fe80::2%eth3", published) == SocketAddress{"fe80::1%eth3", 7});
  CHECK(as_seen_from("fd00::2", published) == published);
  CHECK(as_seen_from("fe80::2%eth3", {"fd00::1", 7}) == SocketAddress{"fd00::1", 7});
}

TEST_CASE("numbers are told from names", "[net]") {
  using lockstep::net::is_number;
  for (const char* number : {"10.0.0.1", "::", "fd00::1", "fe80::1%eth0"}) CHECK(is_number(number));
  for (const char* name : {"", "localhost", "node7", "10.0.0", "node-0.train"}) CHECK_FALSE(is_number(name));
}

TEST_CASE("only this machine's own addresses count as loopback", "[net]") {
  for (const char* own :
       {"localhost", "LOCALHOST", "LocalHost.", "127.0.0.1", "127.1.2.3", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"})
    CHECK(is_loopback(own));
  for (const char* other :
       {"", "10.0.0.1", "0.0.0.0", "::", "::2", "::ffff:10.0.0.1", "127.evil.example", "127.0.0.1.evil.example",
        "127.0.0.1.", "127.0.0.256", "localhost.evil.example", "localhosts", "xlocalhost", "128.0.0.1", "1270.0.0.1"})
    CHECK_FALSE(is_loopback(other));
  CHECK_FALSE(is_loopback(std::string_view("127.0.0.1\0.evil.example", 23)));
}

TEST_CASE("a reader of bytes refuses to read past the end", "[net]") {
  lockstep::net::ByteWriter writer;
  writer.put(std::uint16_t{7}).put_text("abc").put(std::int64_t{-5});
  lockstep::net::ByteReader reader(writer.bytes());
  CHECK(reader.get<std::uint16_t>() == 7);
  CHECK(reader.get_text() == "abc");
  CHECK(reader.get<std::int64_t>() == -5);
  CHECK_THROWS_AS(reader.get<std::uint8_t>(), FormatError);
  lockstep::net::ByteReader lying(std::span(writer.bytes()).first(4));  // cuts the text's length short
  CHECK(lying.get<std::uint16_t>() == 7);
  CHECK_THROWS_AS(lying.get_text(), FormatError);
}
