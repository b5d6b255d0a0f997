#include "base/fault.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using fault::Kind;

TEST_CASE("a fault says what, on which rank and in which step, in any order", "[base]") {
  const fault::Fault kill = fault::parse_fault("rank=2 step=50 kill");
  CHECK(kill.kind == Kind::kKill);
  CHECK(kill.rank == 2);
  CHECK(kill.step == 50);
  CHECK(kill.attempt == 0);
  CHECK_FALSE(kill.peer.has_value());
  const fault::Fault drop = fault::parse_fault("  drop\tpeer=0 attempt=any  step=3 rank=1");
  CHECK(drop.kind == Kind::kDrop);
  CHECK(drop.peer == 0);
  CHECK_FALSE(drop.attempt.has_value());
  CHECK(fault::parse_fault("rank=0 step=1 nan attempt=4").attempt == 4);
  CHECK(fault::parse_fault("rank=0 step=1 slow=0.5s").pause.count() == 0.5);
  CHECK(fault::parse_fault("rank=0 step=1 slow=3x").factor == 3);
}

TEST_CASE("a fault's text reads as the same fault", "[base]") {
  for (const char* text : {"rank=2 step=50 kill", "rank=0 step=1 stop attempt=any", "rank=1 step=7 slow=0.25s",
                           "rank=1 step=7 slow=4x", "rank=3 step=2 drop peer=0", "rank=3 step=2 corrupt attempt=2",
                           "rank=0 step=9 disk-full", "rank=0 step=9 nan", "rank=0 step=9 oom", "rank=0 step=9 batch"})
    CHECK(fault::to_text(fault::parse_fault(text)) == text);
}

TEST_CASE("faults of a list have semicolons between them", "[base]") {
  const auto faults = fault::parse_faults("rank=2 step=50 kill; rank=1 step=60 nan;; ");
  REQUIRE(faults.size() == 2);
  CHECK(faults[1].kind == Kind::kNan);
  CHECK(fault::parse_faults("").empty());
}

TEST_CASE("what is wrong with a fault is named, with what would be right", "[base]") {
  const auto message = [](const char* text) -> std::string {
    try {
      (void)fault::parse_fault(text);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(message("rank=2 step=50 kil"), ContainsSubstring("kil") && ContainsSubstring("did you mean kill?") &&
                                                ContainsSubstring("disk-full, nan, oom"));
  CHECK_THAT(message("rank=2 step=50"), ContainsSubstring("name one of kill, stop"));
  CHECK_THAT(message("step=50 kill"), ContainsSubstring("names no rank"));
  CHECK_THAT(message("rank=1 kill"), ContainsSubstring("names no step"));
  CHECK_THAT(message("rank=-1 step=1 kill"), ContainsSubstring("rank"));
  CHECK_THAT(message("rank=1 step=0 kill"), ContainsSubstring("step"));
  CHECK_THAT(message("rank step=1 kill"), ContainsSubstring("rank"));
  CHECK_THAT(message("rank=1 rank=2 step=1 kill"), ContainsSubstring("names rank twice"));
  CHECK_THAT(message("rank=1 step=1 kill stop"), ContainsSubstring("names a kind twice"));
  CHECK_THAT(message("rank=1 step=1 kill=9"), ContainsSubstring("only slow has one"));
  for (const char* text : {"rank=1 step=1 slow", "rank=1 step=1 slow=3", "rank=1 step=1 slow=-1s",
                           "rank=1 step=1 slow=0.5x", "rank=1 step=1 slow=1e9s"})
    CHECK_THAT(message(text), ContainsSubstring("slow=3x"));
  CHECK_THAT(message("rank=1 step=1 nan peer=0"), ContainsSubstring("only drop and corrupt"));
  CHECK_THAT(message("rank=1 step=1 drop peer=1"), ContainsSubstring("own peer"));
}

TEST_CASE("an armed fault happens once, and only to the peer that it names", "[base]") {
  CHECK_FALSE(fault::take(Kind::kNan));
  fault::arm(Kind::kNan);
  CHECK(fault::take(Kind::kNan));
  CHECK_FALSE(fault::take(Kind::kNan));
  fault::arm(Kind::kDrop, 3);
  CHECK_FALSE(fault::take(Kind::kDrop, 2));
  CHECK_FALSE(fault::take(Kind::kCorrupt, 3));
  CHECK(fault::take(Kind::kDrop, 3));
  fault::arm(Kind::kCorrupt);
  CHECK(fault::take(Kind::kCorrupt, 2));
  CHECK_FALSE(fault::take(Kind::kCorrupt, 2));
}
