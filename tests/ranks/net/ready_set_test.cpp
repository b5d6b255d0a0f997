#include "net/ready_set.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <set>

#include "loopback_pair.hpp"
#include "net/bytes.hpp"
#include "support/catch.hpp"
#include "support/soon.hpp"

using namespace lockstep;
using net::ReadySet;
using test::soon;

namespace {

// Waits until the set is readable, or the time is over.
bool becomes_readable(const ReadySet& set, int milliseconds) {
  pollfd entry{set.fd(), POLLIN, 0};
  return ::poll(&entry, 1, milliseconds) == 1;
}

std::vector<std::uint64_t> taken(ReadySet& set) {
  const auto keys = set.take();
  return {keys.begin(), keys.end()};
}

}  // namespace

TEST_CASE("a set tells which connections can be read, until they have been", "[net]") {
  ReadySet set;
  std::array<test::LoopbackPair, 3> pairs{test::connect_pair(), test::connect_pair(), test::connect_pair()};
  for (std::uint64_t i = 0; i < pairs.size(); ++i) set.add(pairs[i].left.fd(), 10 + i);
  CHECK_FALSE(becomes_readable(set, 0));
  CHECK(taken(set).empty());

  pairs[1].right.send_all(net::as_bytes("x"), soon());
  CHECK(becomes_readable(set, 5000));
  CHECK(taken(set) == std::vector<std::uint64_t>{11});
  CHECK(taken(set) == std::vector<std::uint64_t>{11});  // it has not been read yet
  std::array<std::byte, 1> byte{};
  pairs[1].left.receive_exactly(byte, soon());
  CHECK(taken(set).empty());
}

TEST_CASE("room to write is waited for only if that is wanted, and an end is always told", "[net]") {
  ReadySet set;
  test::LoopbackPair pair = test::connect_pair();
  set.add(pair.left.fd(), 7);
  CHECK(taken(set).empty());
  set.change(pair.left.fd(), 7, ReadySet::Interest::kReadAndWrite);
  CHECK(taken(set) == std::vector<std::uint64_t>{7});
  set.change(pair.left.fd(), 7, ReadySet::Interest::kRead);
  CHECK(taken(set).empty());
  pair.right.close();
  CHECK(becomes_readable(set, 5000));
  CHECK(taken(set) == std::vector<std::uint64_t>{7});
  set.remove(pair.left.fd());
  CHECK(taken(set).empty());
}

TEST_CASE("where more are ready than one call returns, the next calls begin with the others", "[net]") {
  constexpr std::size_t kCount = ReadySet::kMostPerCall + 100;
  ReadySet set;
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  std::vector<UniqueFd> copies;
  for (std::size_t i = 0; i < kCount; ++i) {
    copies.emplace_back(::dup(reader.get()));
    REQUIRE(copies.back().is_open());
    set.add(copies.back().get(), i);
  }
  REQUIRE(::write(writer.get(), "x", 1) == 1);
  std::set<std::uint64_t> seen;
  for (int call = 0; call < 2; ++call) {
    for (const std::uint64_t key : taken(set)) seen.insert(key);
  }
  CHECK(seen.size() == kCount);
}
