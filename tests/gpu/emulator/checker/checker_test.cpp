#include <algorithm>
#include <set>

#include "checked_run.hpp"
#include "emulator/runtime/launch_log.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;

namespace {

struct Expected {
  const char* name;
  FindingKind kind;
  std::vector<const char*> marks;  // of the sides, in any order
};

const Expected kBugs[] = {
    {"race", FindingKind::kRace, {"race write", "race read"}},
    {"anew", FindingKind::kRace, {"anew write", "anew read"}},
    {"blocks", FindingKind::kRace, {"blocks", "blocks"}},
    {"leftover", FindingKind::kUninitialisedRead, {"leftover"}},
    {"unwritten", FindingKind::kUninitialisedRead, {"add"}},
    {"overrun", FindingKind::kOutOfBounds, {"add"}},
    {"freed", FindingKind::kUseAfterFree, {"add"}},
    {"host", FindingKind::kHostPointer, {"add"}},
    {"small", FindingKind::kRace, {"small write", "small read"}},
    {"dynamic overrun", FindingKind::kOutOfBounds, {"dynamic write"}},
    {"static overrun", FindingKind::kOutOfBounds, {"static overrun"}},
    {"static negative", FindingKind::kOutOfBounds, {"static overrun"}},
    {"misaligned", FindingKind::kMisaligned, {"misaligned"}},
    {"warp", FindingKind::kRace, {"warp write", "warp read"}},
    {"no fence", FindingKind::kRace, {"partial write", "partial read"}},
    {"count", FindingKind::kRace, {"count atomic", "count read"}},
    {"fresh bins", FindingKind::kUninitialisedRead, {"bins"}},
};

const char* const kCorrect[] = {"no race", "not anew", "not small", "dynamic",         "not warp",
                                "fence",   "bins",     "variable",  "padded transpose"};

std::multiset<unsigned> lines_of(const Finding& finding) {
  std::multiset<unsigned> lines;
  for (const FindingSide& side : finding.sides) lines.insert(side.place.line);
  return lines;
}

bool is_expected(const Finding& finding, const Expected& expected) {
  std::multiset<unsigned> lines;
  for (const char* const mark : expected.marks) lines.insert(line_of(mark));
  return finding.kind == expected.kind && lines_of(finding) == lines &&
         finding.sides[0].place.file.find("planted.cu") != std::string::npos;
}

std::string all_text() {
  std::string text;
  for (const Finding& finding : findings()) text += to_text(finding);
  return text;
}

}  // namespace

TEST_CASE("Each planted bug is found, with its class and its lines, in every order of threads", "[emulator]") {
  for (const std::uint64_t seed : {0U, 1U, 7U}) {
    for (const Expected& expected : kBugs) {
      const CheckedScope scope(seed);
      run_planted(expected.name);
      INFO(expected.name << ", seed " << seed << '\n' << all_text());
      const std::vector<Finding> found = findings();
      REQUIRE(found.size() >= 1);
      CHECK(is_expected(found[0], expected));
    }
  }
}

TEST_CASE("Correct kernels are silent in every order of threads", "[emulator]") {
  for (const std::uint64_t seed : {0U, 1U, 7U}) {
    for (const char* const name : kCorrect) {
      const CheckedScope scope(seed);
      run_planted(name);
      INFO(name << ", seed " << seed << '\n' << all_text());
      CHECK(findings().empty());
    }
  }
}

TEST_CASE("Kernels may still use pinned memory that the wrong call has not freed", "[emulator]") {
  constexpr std::size_t kBytes = Buffers::kCount * sizeof(float);
  const CheckedScope scope(0);
  const DeviceArray<float> floats;
  std::vector<float> registered(Buffers::kCount);
  float* allocated = nullptr;
  REQUIRE(cudaHostRegister(registered.data(), kBytes, cudaHostRegisterDefault) == cudaSuccess);
  REQUIRE(cudaMallocHost(&allocated, kBytes) == cudaSuccess);
  CHECK(cudaFreeHost(registered.data()) == cudaErrorInvalidValue);
  CHECK(cudaHostUnregister(allocated) == cudaErrorHostMemoryNotRegistered);
  for (const float* const host : {static_cast<const float*>(registered.data()), static_cast<const float*>(allocated)}) {
    Buffers buffers;
    buffers.floats = floats.data();
    buffers.host = host;
    std::ranges::find(planted(), "host", &Planted::name)->launch(buffers);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
  }
  INFO(all_text());
  CHECK(findings().empty());
  CHECK(cudaFreeHost(allocated) == cudaSuccess);
  CHECK(cudaHostUnregister(registered.data()) == cudaSuccess);
}

TEST_CASE("A finding is kept once and counted, with the threads of its first time", "[emulator]") {
  const CheckedScope scope(0);
  run_planted("race");
  run_planted("race");
  const std::vector<Finding> found = findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].count > 1);
  CHECK(found[0].kernel == "reverse_without_barrier");
  // Threads of the first warp run first, and read what the second has yet to write.
  CHECK(to_text(found[0]).rfind("emulated CUDA: race in kernel reverse_without_barrier: read at planted.cu:", 0) == 0);
  CHECK_THAT(found[0].detail, ContainsSubstring("shared memory 'tile', byte "));
}

TEST_CASE("A barrier that threads miss comes before the races that follow from it", "[emulator]") {
  for (const std::uint64_t seed : {0U, 1U, 7U}) {
    for (const char* const name : {"branch", "return"}) {
      const CheckedScope scope(seed);
      run_planted(name);
      INFO(name << ", seed " << seed << '\n' << all_text());
      const std::vector<Finding> found = findings();
      REQUIRE(found.size() >= 2);
      CHECK(found[0].kind == FindingKind::kDivergentBarrier);
      CHECK(lines_of(found[0]).contains(line_of(std::string(name) + " barrier")));
      for (std::size_t i = 1; i < found.size(); ++i) {
        CHECK(found[i].kind == FindingKind::kRace);
        CHECK_THAT(hint_of(found[i]), ContainsSubstring("fix the divergent barrier first"));
      }
    }
  }
}

TEST_CASE("A launch says in which stream it goes and how large it is", "[emulator]") {
  const CheckedScope scope(0);
  run_planted("not anew");
  const std::vector<Launch> all = launches();
  const auto is_that_one = [](const Launch& launch) {
    return launch.kernel == "two_rounds" && launch.blocks == 1 && launch.threads == 64 && launch.is_in_default_stream;
  };
  REQUIRE(std::ranges::count_if(all, is_that_one) == 1);
  run_planted("not anew");
  CHECK(launches().size() == all.size());  // each once
}

TEST_CASE("Reports name the memory as the program knows it", "[emulator]") {
  const CheckedScope scope(0);
  run_planted("overrun");
  REQUIRE(findings().size() == 1);
  CHECK_THAT(findings()[0].detail, ContainsSubstring("4 bytes that begin 0 bytes after the end of allocation #"));
  CHECK(findings()[0].sides[0].block.x == 8);
  CHECK(findings()[0].sides[0].thread.x == 0);
}

TEST_CASE("Nothing is checked unless it was asked for", "[emulator]") {
  clear_findings();
  run_planted("race");
  CHECK(findings().empty());
}
