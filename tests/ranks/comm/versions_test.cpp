#include "comm/joining/versions.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using comm::Versions;

namespace {

Versions versions(const std::string& host, const std::string& lockstep, const std::string& nccl = "") {
  return {
      .host = host, .lockstep = lockstep, .processor = "a cpu", .device = {}, .driver = {}, .cuda = {}, .nccl = nccl};
}

}  // namespace

TEST_CASE("ranks that have the same of everything differ in nothing, on whatever host", "[comm]") {
  CHECK(comm::describe_differences({versions("a", "0.1.0"), versions("b", "0.1.0")}).empty());
  CHECK(comm::describe_differences({}).empty());
}

TEST_CASE("a difference names the field, the values and the ranks of each", "[comm]") {
  CHECK(comm::describe_differences({versions("a", "0.1.0"), versions("b", "0.2.0"), versions("a", "0.1.0")}) ==
        "ranks differ in lockstep: 0.1.0 on ranks 0, 2 (host a), 0.2.0 on rank 1 (host b)");
  CHECK(comm::describe_differences({versions("a", "1", "2.19"), versions("a", "2"), versions("b", "2")}) ==
        "ranks differ in lockstep: 1 on rank 0 (host a), 2 on ranks 1, 2; in NCCL: none on ranks 1, 2, 2.19 on rank 0 "
        "(host a)");
}

TEST_CASE("versions survive being written, and a field of a later version is ignored", "[comm]") {
  Versions own = comm::own_versions();
  CHECK_FALSE(own.host.empty());
  CHECK_FALSE(own.lockstep.empty());
  CHECK_FALSE(own.processor.empty());
  CHECK(comm::decode_versions(comm::encode(own)) == own);
  CHECK(comm::decode_versions(comm::encode(own) + "moon=full\n") == own);
  own.processor = "two\nlines";
  CHECK(comm::decode_versions(comm::encode(own)).processor == "two lines");
  CHECK(comm::decode_versions("") == Versions{});
  CHECK_THROWS_AS(comm::decode_versions("nonsense"), FormatError);
}
