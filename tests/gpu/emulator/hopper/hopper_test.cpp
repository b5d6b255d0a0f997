// Right kernels give the right product in silence, in every order of threads; each wrong one is reported as what it is.
#include <cuda_runtime.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "emulator/checker/control.hpp"
#include "emulator/checker/findings.hpp"
#include "emulator/engine/execution.hpp"
#include "hopper_kernels.hpp"
#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::test;

namespace {

constexpr int kRows = 64, kOthers = 128;

/// Small integers: sums are exact in every order.
int number(int row, int column) { return (row * 7 + column * 3 + row * column) % 9 - 4; }

class Matrices {
 public:
  explicit Matrices(int rounds) : depth_(64 * rounds), product_{nullptr, nullptr, nullptr, rounds} {
    product_.a = filled(kRows, 0);
    product_.b = filled(kOthers, 5);
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&product_.c), sizeof(float) * kRows * kOthers) == cudaSuccess);
  }
  ~Matrices() {
    static_cast<void>(cudaFree(product_.c));
    static_cast<void>(cudaFree(const_cast<__nv_bfloat16*>(product_.a)));
    static_cast<void>(cudaFree(const_cast<__nv_bfloat16*>(product_.b)));
    static_cast<void>(cudaGetLastError());
  }
  Matrices(const Matrices&) = delete;
  Matrices& operator=(const Matrices&) = delete;

  [[nodiscard]] const TileProduct& product() const { return product_; }

  [[nodiscard]] bool is_right() const {
    std::vector<float> c(std::size_t{kRows} * kOthers);
    if (cudaMemcpy(c.data(), product_.c, c.size() * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return false;
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kOthers; ++column) {
        int sum = 0;
        for (int k = 0; k < depth_; ++k) sum += number(row, k) * number(column + 5, k);
        if (c[static_cast<std::size_t>(row * kOthers + column)] != static_cast<float>(sum)) return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] __nv_bfloat16* filled(int rows, int first) const {
    std::vector<__nv_bfloat16> values;
    for (int row = 0; row < rows; ++row) {
      for (int k = 0; k < depth_; ++k) values.push_back(__float2bfloat16(static_cast<float>(number(row + first, k))));
    }
    __nv_bfloat16* memory = nullptr;
    const std::size_t bytes = values.size() * sizeof(__nv_bfloat16);
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), bytes) == cudaSuccess);
    REQUIRE(cudaMemcpy(memory, values.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    return memory;
  }

  int depth_;
  TileProduct product_;
};

using Kernel = void (*)(Mistake, const TileProduct&);

struct Run {
  std::vector<Finding> findings;
  std::string text;
  bool is_right = false;
};

Run run(Kernel kernel, Mistake mistake, int rounds, std::uint64_t seed) {
  const std::uint64_t seed_before = schedule_seed();
  set_schedule_seed(seed);
  print_findings(false);
  enable_checks(true);
  clear_findings();
  Run result;
  {
    const Matrices matrices(rounds);
    kernel(mistake, matrices.product());
    static_cast<void>(cudaDeviceSynchronize());
    result.findings = findings();
    result.is_right = matrices.is_right();
  }
  static_cast<void>(cudaDeviceReset());
  for (const Finding& finding : result.findings) result.text += to_text(finding);
  clear_findings();
  enable_checks(false);
  set_schedule_seed(seed_before);
  return result;
}

/// The line of hopper_kernels.cu with this mark.
unsigned line_of(const std::string& mark) {
  std::ifstream file(LOCKSTEP_HOPPER_KERNELS);
  unsigned number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with("// mark: " + mark)) return number;
  }
  FAIL("no mark " << mark);
  return 0;
}

bool names_line(const Finding& finding, unsigned line) {
  for (const FindingSide& side : finding.sides) {
    if (side.place.line == line) return true;
  }
  return false;
}

struct Expected {
  const char* name;
  Kernel kernel;
  Mistake mistake;
  FindingKind kind;
  const char* mark;               // a line that the report names; null: it depends on the order of threads
  const char* words;              // of the report
  std::vector<FindingKind> also;  // consequences that may be reported too
  int rounds = 1;
};

std::vector<Expected> mistakes() {
  using enum FindingKind;
  return {
      {"nobody waits for the tiles", in_turns, Mistake::kNoWait, kMissingWait, "product", "arrived", {kRace}},
      {"a wait for the wrong phase", in_turns, Mistake::kWrongPhase, kMissingWait, "product", "arrived", {kRace}},
      {"a parity never flipped",
       in_turns,
       Mistake::kParityNeverFlipped,
       kMissingWait,
       "product",
       "arrived",
       {kRace},
       2},
      {"one thread waits for all", in_turns, Mistake::kOneThreadWaits, kRace, "product", "nothing orders", {}},
      {"fewer bytes expected", in_turns, Mistake::kTooFewBytes, kDeadlock, "wait", "64 bytes more than", {}},
      {"more bytes expected", in_turns, Mistake::kTooManyBytes, kDeadlock, "wait", "lacks 64 bytes", {}},
      {"an arrival too many", in_turns, Mistake::kTwoArrivals, kMisusedBarrier, "arrival", "already has its 1", {}},
      {"no initialisation", in_turns, Mistake::kNoInit, kMisusedBarrier, nullptr, "has not initialised", {}},
      {"no fence after it", in_turns, Mistake::kNoFenceAfterInit, kMissingFence, "copy of a", "proxy.async", {}},
      {"a misaligned tile", in_turns, Mistake::kMisalignedTile, kMisaligned, "copy of a", "multiple of 1024", {}},
      {"no fence after stores", from_stores, Mistake::kNoFenceAfterStores, kMissingFence, "store", "proxy.async", {}},
      {"no fence of the sums", in_turns, Mistake::kNoProductFence, kMissingFence, "product", "no wgmma.fence", {}},
      {"a copy over a tile", in_turns, Mistake::kCopyOverTile, kUnfinishedProduct, "product", "overwrites", {kRace}},
      {"stores over a tile",
       from_stores,
       Mistake::kStoreOverTile,
       kUnfinishedProduct,
       "product",
       "was changed",
       {kRace}},
      {"sums used too early", in_turns, Mistake::kSumsTooEarly, kUnfinishedProduct, "sum", "still be adding", {}},
      {"tiles released too early", two_roles, Mistake::kReleasedTooEarly, kRace, "product", "nothing orders", {}, 2},
  };
}

}  // namespace

TEST_CASE("Products of tiles are right and silent in every order of threads", "[emulator]") {
  for (const Kernel kernel : {in_turns, from_stores, two_roles}) {
    for (const std::uint64_t seed : {0, 1, 7}) {
      const Run result = run(kernel, Mistake::kNone, kernel == from_stores ? 1 : 3, seed);
      CAPTURE(seed);
      CHECK(result.text == "");
      CHECK(result.is_right);
    }
  }
}

TEST_CASE("Each wrong use of Hopper's instructions is reported as what it is", "[emulator]") {
  for (const Expected& expected : mistakes()) {
    for (const std::uint64_t seed : {0, 1, 7}) {
      const Run result = run(expected.kernel, expected.mistake, expected.rounds, seed);
      CAPTURE(expected.name, seed, result.text);
      bool is_found = false;
      for (const Finding& finding : result.findings) {
        const bool is_bug = finding.kind == expected.kind &&
                            (expected.mark == nullptr || names_line(finding, line_of(expected.mark))) &&
                            to_text(finding).find(expected.words) != std::string::npos;
        is_found |= is_bug;
        CHECK((finding.kind == expected.kind || std::ranges::count(expected.also, finding.kind) > 0));
      }
      CHECK(is_found);
    }
  }
}

TEST_CASE("Reads that come too early give wrong numbers", "[emulator]") {
  CHECK(!run(in_turns, Mistake::kSumsTooEarly, 1, 0).is_right);
  CHECK(run(in_turns, Mistake::kNone, 2, 0).is_right);  // leaves the tiles of its second round
  CHECK(!run(in_turns, Mistake::kNoWait, 1, 0).is_right);
  CHECK(!run(from_stores, Mistake::kStoreOverTile, 1, 0).is_right);
}
