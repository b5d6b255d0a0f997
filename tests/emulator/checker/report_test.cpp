#include "emulator/checker/findings.hpp"
#include "support/catch.hpp"

using namespace lockstep::emulator;

TEST_CASE("A race is told with both sides, the memory and the usual cause", "[emulator]") {
  Finding finding;
  finding.kind = FindingKind::kRace;
  finding.kernel = "block_sum";
  finding.sides = {{"write", {"/course/sum.cu", 14}, true, {33, 0, 0}, {0, 0, 0}},
                   {"read", {"/course/sum.cu", 17}, true, {0, 0, 0}, {0, 0, 0}}};
  finding.detail = "shared memory 'tile', byte 132; nothing orders the two";
  CHECK(
      to_text(finding) ==
      "emulated CUDA: race in kernel block_sum: write at sum.cu:14 by thread (33,0,0) of block (0,0,0)\n"
      "  and read at sum.cu:17 by thread (0,0,0) of block (0,0,0): shared memory 'tile', byte 132; nothing orders the "
      "two.\n"
      "  hint: a __syncthreads() is missing between writing shared memory and reading what another thread wrote, or "
      "between reading it and writing it anew.\n");
  finding.count = 31;
  CHECK(
      summary_of({finding}) ==
      "emulated CUDA: 1 finding in this run:\n  race in kernel block_sum at sum.cu:14 and sum.cu:17, seen 31 times\n");
}

TEST_CASE("Every class of finding has a name and a hint", "[emulator]") {
  for (int kind = 0; kind <= static_cast<int>(FindingKind::kBadLaunch); ++kind) {
    Finding finding;
    finding.kind = static_cast<FindingKind>(kind);
    finding.detail = "something";
    CHECK(std::string(name_of(finding.kind)) != "finding");
    CHECK_FALSE(hint_of(finding).empty());
  }
}
