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
      "between reading it and overwriting it.\n");
  finding.count = 31;
  CHECK(
      summary_of({finding}) ==
      "emulated CUDA: 1 finding in this run:\n  race in kernel block_sum at sum.cu:14 and sum.cu:17, seen 31 times\n");
}

TEST_CASE("What to do about a race depends on who takes part and how", "[emulator]") {
  const auto race = [](const char* first, unsigned first_line, const char* second, unsigned second_line,
                       unsigned second_block) {
    Finding finding;
    finding.kind = FindingKind::kRace;
    finding.sides = {{first, {"a.cu", first_line}, true, {0, 0, 0}, {0, 0, 0}},
                     {second, {"a.cu", second_line}, true, {1, 0, 0}, {second_block, 0, 0}}};
    finding.detail = "shared memory 'counts', byte 4; nothing orders the two";
    return finding;
  };
  // `counts[i] += 1`: no barrier helps.
  CHECK_THAT(hint_of(race("write", 7, "read", 7, 0)), ContainsSubstring("two threads update one value"));
  CHECK_THAT(hint_of(race("write", 7, "read", 7, 0)), ContainsSubstring("atomicAdd"));
  // Two threads that store to one element have read nothing of it.
  CHECK_THAT(hint_of(race("write", 7, "write", 7, 0)), ContainsSubstring("check the index"));
  CHECK_THAT(hint_of(race("write", 7, "write", 7, 0)), !ContainsSubstring("update"));
  CHECK_THAT(hint_of(race("atomic", 7, "read", 9, 0)), ContainsSubstring("put a __syncthreads() between the two"));
  CHECK_THAT(hint_of(race("atomic", 7, "read", 9, 1)), !ContainsSubstring("__syncthreads"));
  CHECK_THAT(hint_of(race("write", 7, "read", 7, 1)), ContainsSubstring("check how blockIdx enters the index"));
}

TEST_CASE("A warp operation that not all lanes reach is told from other deadlocks", "[emulator]") {
  Finding finding;
  finding.kind = FindingKind::kDeadlock;
  finding.sides = {{"waits in __syncthreads", {"a.cu", 7}, true, {0, 0, 0}, {0, 0, 0}}};
  CHECK_THAT(hint_of(finding), !ContainsSubstring("mask"));
  finding.sides.push_back({"waits in __shfl_xor_sync with mask 0xffffffff", {"a.cu", 9}, true, {1, 0, 0}, {0, 0, 0}});
  CHECK_THAT(hint_of(finding), ContainsSubstring("waits for all lanes that its mask names"));
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
