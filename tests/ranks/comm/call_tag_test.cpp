// The purpose of a call, in its caller's words: how it travels and is shown. That ranks compare it, on every backend,
// is in support/collective_failure_checks.cpp.
#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/control/hub/call_ledger.hpp"
#include "comm/control/wire.hpp"
#include "comm/fingerprints.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/transport.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using comm::CallTag;
using comm::Collective;
using comm::Fingerprint;

namespace {

Fingerprint gather_of(std::string_view tag, std::uint64_t sequence = 212) {
  return {.sequence = sequence,
          .collective = Collective::kAllGather,
          .dtype = DType::kFloat32,
          .count = 1000,
          .tag = CallTag(tag)};
}

std::vector<int> numbers_of(const net::FrameTag& tag) {
  std::vector<int> bytes;
  for (const std::byte byte : tag) bytes.push_back(static_cast<int>(byte));
  return bytes;
}

std::vector<std::byte> status_with(const Fingerprint& call) {
  comm::ControlMessage message{.type = comm::ControlType::kStatus, .status = {}, .failure = {}};
  message.status[3].issued = call;
  message.status[3].ended = {call};
  message.calls = {call};
  return comm::encode(message);
}

}  // namespace

TEST_CASE("a call without a tag sends the bytes that it has always sent", "[comm]") {
  const Fingerprint sum{.collective = Collective::kReduceScatter,
                        .op = comm::ReduceOp::kMean,
                        .dtype = DType::kBFloat16,
                        .count = 0x01020304};
  CHECK(numbers_of(comm::to_tag(sum)) == std::vector<int>{5, 4, 2, 0, 0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0});
  const Fingerprint message{.collective = Collective::kSend, .dtype = DType::kInt64, .root = 0x0203, .count = 9};
  CHECK(numbers_of(comm::to_tag(message)) == std::vector<int>{9, 0, 4, 0, 3, 2, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0});
  // Of a fingerprint in a control message, number and tag: 24 bytes, three times here, and nothing for words.
  const std::size_t without = status_with(gather_of("")).size();
  CHECK(status_with(gather_of("unit h.3")).size() == without + 3 * (4 + std::strlen("unit h.3")));
}

TEST_CASE("the hash of a tag takes the place of bytes that are zero, and nothing else's", "[comm]") {
  std::set<net::FrameTag> seen;
  for (int unit = 0; unit < 1000; ++unit) {
    for (const std::int32_t root : {0, 65535}) {
      Fingerprint call = gather_of(concat("unit h.", unit));
      call.root = root;
      const net::FrameTag tag = comm::to_tag(call);
      CHECK(seen.insert(tag).second);
      CHECK(tag[3] != std::byte{0});
      const Fingerprint read = comm::from_tag(212, tag);
      CHECK(read == call);
      CHECK(read.root == root);
      CHECK(read.count == 1000);
      CHECK(read.tag.text().empty());  // words do not fit into sixteen bytes
    }
  }
  CHECK(gather_of("unit h.2") != gather_of("unit h.3"));
  CHECK(gather_of("unit h.2") != gather_of(""));
}

TEST_CASE("messages show a call's tag, or say that another rank has another one", "[comm]") {
  CHECK(comm::short_name(gather_of("unit h.3")) == "all_gather #212 (unit h.3)");
  CHECK(comm::describe(gather_of("unit h.3")) == "all_gather #212 (unit h.3; 1000 float32 from each rank)");
  CHECK(comm::describe(gather_of("")) == "all_gather #212 (1000 float32 from each rank)");
  CHECK(comm::describe({.sequence = 5, .tag = CallTag("end of epoch")}) == "barrier #5 (end of epoch)");
  const Fingerprint unknown = comm::from_tag(212, comm::to_tag(gather_of("unit h.3")));
  CHECK_THAT(comm::describe(unknown), ContainsSubstring("all_gather #212 (a tag of hash 0x"));
}

TEST_CASE("a tag is a short line of printable characters", "[comm][fault]") {
  CHECK_NOTHROW(CallTag(std::string(CallTag::kMaxBytes, 'x')));
  CHECK_THROWS_WITH(CallTag(std::string(CallTag::kMaxBytes + 1, 'x')), ContainsSubstring("at most 47"));
  for (const char* const text : {"a\nb", "\x1b[31m",
                                 "Gr\xC3\xB6\xC3\x9F"
                                 "e"}) {
    CHECK_THROWS_AS(CallTag(text), ContractError);
  }
}

TEST_CASE("the words of a tag reach the hub, and nothing else does as words", "[comm]") {
  const std::vector<std::byte> bytes = status_with(gather_of("unit h.3"));
  const comm::ControlMessage read = comm::decode_control(bytes);
  CHECK(read.status.at(3).issued->tag.text() == "unit h.3");
  CHECK(read.status.at(3).ended.at(0).tag.text() == "unit h.3");
  CHECK(read.calls.at(0).tag.text() == "unit h.3");
  CHECK(comm::encode(read) == bytes);
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    CHECK_THROWS_AS(comm::decode_control(std::span(bytes).first(count)), FormatError);
  }
  const auto at = std::search(bytes.begin(), bytes.end(), std::begin("unit"), std::end("unit") - 1,
                              [](std::byte a, char b) { return static_cast<char>(a) == b; });
  REQUIRE(at != bytes.end());
  for (const char other : {'U', '\x1b', '\n'}) {  // another text, and what a terminal would act on
    std::vector<std::byte> forged = bytes;
    forged[static_cast<std::size_t>(at - bytes.begin())] = static_cast<std::byte>(other);
    CHECK_THROWS_AS(comm::decode_control(forged), FormatError);
  }
}

TEST_CASE("calls that differ in their tags alone disagree, by name", "[comm]") {
  comm::CallLedger ledger;
  const auto members = std::make_shared<const std::vector<int>>(std::vector<int>{0, 1});
  (void)ledger.add(0, 0, members, gather_of("unit h.2", 0));
  const auto verdict = ledger.add(1, 0, members, gather_of("unit h.3", 0));
  REQUIRE(verdict.disagreement);
  CHECK(*verdict.disagreement ==
        "ranks called different collectives: rank 0 all_gather #0 (unit h.2; 1000 float32 from each rank), rank 1 "
        "all_gather #0 (unit h.3; 1000 float32 from each rank)");
}

TEST_CASE("a receive is described as one, whoever finds that it does not fit", "[comm]") {
  // Rank 1 expects 5 elements of rank 0, which sends 4.
  const auto header = [](const Fingerprint& call, int source) {
    return net::FrameHeader{.source_rank = source, .sequence = call.sequence, .tag = comm::to_tag(call)};
  };
  const Fingerprint expected = test::message(Collective::kSend, 0, 1, 5), sent = test::message(Collective::kSend, 0, 1);
  CHECK_THROWS_WITH(comm::check_same_collective(header(expected, 1), "rank 1", header(sent, 0), "rank 0"),
                    "ranks called different collectives: rank 1 recv #0 (5 float32 from rank 0), rank 0 send #0 (4 "
                    "float32 to rank 1)");
  const auto members = std::make_shared<const std::vector<int>>(std::vector<int>{0, 1});
  const Fingerprint received = test::message(Collective::kRecv, 0, 0, 5);
  for (const bool is_receiver_first : {true, false}) {
    comm::CallLedger ledger;
    const auto post = [&](bool is_receiver) {
      return is_receiver ? ledger.add(1, 0, members, received) : ledger.add(0, 0, members, sent);
    };
    (void)post(is_receiver_first);
    const auto verdict = post(!is_receiver_first);
    REQUIRE(verdict.disagreement);
    CHECK_THAT(*verdict.disagreement, ContainsSubstring("rank 1 recv #0 (5 float32 from rank 0)") &&
                                          ContainsSubstring("rank 0 send #0 (4 float32 to rank 1)"));
  }
}

TEST_CASE("a flight record keeps the words of a tag", "[comm]") {
  const test::TemporaryFolder folder;
  comm::FlightRecorder recorder(folder.path(), 0, 1, 0);
  recorder.add(0, gather_of(std::string(CallTag::kMaxBytes, 'x')), std::source_location::current());
  recorder.add(0, gather_of("unit h.3"), std::source_location::current());
  recorder.add(0, gather_of(""), std::source_location::current());
  const auto record = comm::read_flight_record(comm::flight_record_path(folder.path(), 0));
  CHECK(record.entries.at(0).fingerprint.tag.text() == std::string(CallTag::kMaxBytes, 'x'));
  CHECK(record.entries.at(1).fingerprint.tag.text() == "unit h.3");
  CHECK_FALSE(record.entries.at(2).fingerprint.tag.is_given());
  CHECK_THAT(comm::format_flight_record(record), ContainsSubstring("all_gather #212 (unit h.3; 1000 float32"));
}
