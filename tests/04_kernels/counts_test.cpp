// The emulator's counts for rungs whose counts follow from their indices by hand, and that it finds nothing in any.
#include "04_kernels/measure/backend.hpp"
#include "04_kernels/measure/problem.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using namespace lockstep::ladders;

namespace {

Counts counts_of(const std::string& name, const std::string& rung_name, const std::vector<int>& sizes) {
  const LadderEntry& entry = find_ladder(name);
  const auto problem = entry.make(sizes, counted_registry());
  const std::vector<RungText> rungs = entry.rungs(counted_registry());
  for (int rung = 0; rung < static_cast<int>(rungs.size()); ++rung) {
    if (rungs[static_cast<std::size_t>(rung)].name != rung_name) continue;
    problem->reset();
    return count_accesses([&] { problem->enqueue(rung, nullptr); });
  }
  FAIL("no rung " << rung_name);
  return {};
}

}  // namespace

TEST_CASE("A transpose reads 4 sectors per request and writes 32, or 4 through a tile", "[kernels][chapter]") {
  // 64 x 64 elements: 128 requests to read a row of 32 floats each, and 128 to write.
  const Counts naive = counts_of("transpose", "naive", {64, 64});
  CHECK(naive.requests == 256);
  CHECK(naive.sectors == 128 * 4 + 128 * 32);
  const Counts tile = counts_of("transpose", "tile", {64, 64});
  CHECK(tile.requests == 256);
  CHECK(tile.sectors == 256 * 4);
}

TEST_CASE("A column of a tile takes 32 passes, of a padded or swizzled one 1", "[kernels][chapter]") {
  CHECK(counts_of("transpose", "tile", {64, 64}).bank_passes == 128 + 128 * 32);
  CHECK(counts_of("transpose", "padded", {64, 64}).bank_passes == 256);
  CHECK(counts_of("transpose", "swizzled", {64, 64}).bank_passes == 256);
}

TEST_CASE("Atomics and barriers of a reduction are those of its code", "[kernels][chapter]") {
  const Counts atomics = counts_of("reduction", "one_atomic_per_thread", {1024});
  CHECK(atomics.atomics == 1024);
  CHECK(atomics.barriers == 0);
  for (const char* tree : {"divergent_tree", "sequential_tree"}) {
    const Counts counts = counts_of("reduction", tree, {1024});
    CHECK(counts.atomics == 4);
    CHECK(counts.barriers == 4 * 9);
  }
  CHECK(counts_of("reduction", "warp_shuffles", {1024}).barriers == 4);
}

TEST_CASE("Additions of a compiler to __shared__ objects are not counted", "[kernels][chapter]") {
  CHECK(counts_of("tensor_cores", "asynchronous_copies", {64, 64, 64}).atomics == 0);
}

TEST_CASE("Fused AdamW moves 28 bytes per parameter, four kernels 48", "[kernels][chapter]") {
  CHECK(counts_of("adamw", "four_kernels", {1024}).sectors * 32 == 48 * 1024);
  CHECK(counts_of("adamw", "fused", {1024}).sectors * 32 == 28 * 1024);
}

TEST_CASE("A float4 is one request for what four floats need four", "[kernels][chapter]") {
  const Counts fused = counts_of("adamw", "fused", {1024});
  const Counts vectorised = counts_of("adamw", "vectorised", {1024});
  CHECK(vectorised.sectors == fused.sectors);
  CHECK(vectorised.requests * 4 == fused.requests);
}

TEST_CASE("A row in registers moves the least bytes that softmax can", "[kernels][chapter]") {
  CHECK(counts_of("softmax", "row_in_registers", {4, 256}).sectors * 32 == 8 * 4 * 256);
  CHECK(counts_of("softmax", "online", {4, 256}).sectors * 32 == 12 * 4 * 256);
  CHECK(counts_of("softmax", "warp_per_row", {4, 256}).sectors * 32 == 16 * 4 * 256);
}

TEST_CASE("Tensor cores have no finding while stages of shared memory are used again", "[kernels][chapter]") {
  const test::Finished finished = test::run_program(
      {test::built_program("ladder"), "tensor_cores", "--sizes", "129,131,328"}, {{"LOCKSTEP_EMULATOR_CHECK", "1"}});
  CAPTURE(finished.out, finished.err);
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("whole_tiles  "));
  CHECK_THAT(finished.err, !ContainsSubstring("emulated CUDA"));
}

TEST_CASE("No rung of a ladder has a finding", "[kernels][chapter]") {
  for (const LadderEntry& entry : all_ladders()) {
    const test::Finished finished =
        test::run_program({test::built_program("ladder"), std::string(entry.name)}, {{"LOCKSTEP_EMULATOR_CHECK", "1"}});
    CAPTURE(entry.name, finished.out, finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.err, !ContainsSubstring("emulated CUDA"));
    CHECK_THAT(finished.out, !ContainsSubstring("WRONG"));
  }
}
