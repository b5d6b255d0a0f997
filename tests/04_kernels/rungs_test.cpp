// Every rung of every ladder gives what the CPU gives in float64, at sizes around those of warps, tiles and float4.
#include <memory>
#include <set>
#include <span>
#include <string>

#include "04_kernels/measure/backend.hpp"
#include "04_kernels/measure/problem.hpp"
#include "base/error.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::ladders;

namespace {

/// Skips the test if there is no device to run it on.
std::unique_ptr<Problem> make_problem(const LadderEntry& entry, std::span<const int> sizes) {
  static_cast<void>(test::accelerator());
  return entry.make(sizes, plain_registry());
}

/// Checks all rungs that take these sizes.
/// @return  How many did.
int check_rungs(const std::string& name, const std::vector<int>& sizes) {
  const LadderEntry& entry = find_ladder(name);
  const auto problem = make_problem(entry, sizes);
  const std::vector<RungText> rungs = entry.rungs(plain_registry());
  int checked = 0;
  for (int rung = 0; rung < static_cast<int>(rungs.size()); ++rung) {
    if (!problem->is_allowed(rung)) continue;
    const Verdict verdict = problem->check(rung);
    INFO(name << " " << rungs[static_cast<std::size_t>(rung)].name << ", first size " << sizes[0] << ": "
              << verdict.detail);
    CHECK(verdict.is_right());
    ++checked;
  }
  return checked;
}

}  // namespace

TEST_CASE("Sums are exact for any count", "[kernels][chapter]") {
  for (const int count : {0, 1, 31, 32, 33, 255, 256, 257, 1023, 1025, 70001})
    CHECK(check_rungs("reduction", {count}) == 6);
}

TEST_CASE("A reduction can be called again and again with one workspace", "[kernels][chapter]") {
  const auto problem = make_problem(find_ladder("reduction"), std::vector<int>{5000});
  for (int repetition = 0; repetition < 3; ++repetition) CHECK(problem->check(5).is_right());
}

TEST_CASE("Products are exact whether or not tiles divide the sizes", "[kernels][chapter]") {
  CHECK(check_rungs("matrix_product", {1, 1, 1}) == 4);
  CHECK(check_rungs("matrix_product", {33, 31, 7}) == 4);
  CHECK(check_rungs("matrix_product", {1, 4, 4}) == 6);
  CHECK(check_rungs("matrix_product", {129, 132, 12}) == 6);
  const int with_hopper = is_emulated() ? 4 : 3;  // on a GPU: at least
  CHECK(check_rungs("tensor_cores", {1, 1, 8}) >= with_hopper);
  CHECK(check_rungs("tensor_cores", {17, 9, 24}) >= with_hopper);
  CHECK(check_rungs("tensor_cores", {65, 66, 72}) >= with_hopper);
  CHECK(check_rungs("tensor_cores", {129, 131, 328}) >= with_hopper);  // six steps: the three stages are reused
  CHECK(check_rungs("tensor_cores", {16, 8, 12}) == 0);
}

TEST_CASE("Rows of any length are normalized, with the rungs that take them", "[kernels][chapter]") {
  for (const char* name : {"softmax", "layer_norm"}) {
    const int all = name == std::string("softmax") ? 5 : 3, any = name == std::string("softmax") ? 3 : 2;
    CHECK(check_rungs(name, {1, 1}) == any);
    CHECK(check_rungs(name, {3, 33}) == any);
    CHECK(check_rungs(name, {5, 4}) == all);
    CHECK(check_rungs(name, {129, 132}) == all);
    CHECK(check_rungs(name, {2, 1024}) == all);
    CHECK(check_rungs(name, {2, 1028}) == all - 1);
  }
}

TEST_CASE("Matrices of any shape are transposed", "[kernels][chapter]") {
  CHECK(check_rungs("transpose", {1, 1}) == 4);
  CHECK(check_rungs("transpose", {1, 65}) == 4);
  CHECK(check_rungs("transpose", {64, 32}) == 4);
  CHECK(check_rungs("transpose", {33, 95}) == 4);
}

TEST_CASE("AdamW steps any number of parameters", "[kernels][chapter]") {
  for (const int count : {1, 3, 4, 5, 255, 1024, 1027}) CHECK(check_rungs("adamw", {count}) == 3);
}

TEST_CASE("Attention looks back over any number of positions", "[kernels][chapter]") {
  CHECK(check_rungs("flash_attention", {1, 1}) == 3);
  CHECK(check_rungs("flash_attention", {3, 33}) == 3);
  CHECK(check_rungs("flash_attention", {1, 64}) == 3);
  CHECK(check_rungs("flash_attention", {2, 65}) == 3);
}

TEST_CASE("A result that nobody has written is wrong", "[kernels][chapter]") {
  for (const LadderEntry& entry : all_ladders()) {
    const auto problem = make_problem(entry, entry.checked);
    problem->reset();
    INFO(entry.name);
    CHECK(!problem->verdict().is_right());
  }
}

TEST_CASE("Every rung has a name of its own in its ladder and says what it removes", "[kernels][chapter]") {
  for (const LadderEntry& entry : all_ladders()) {
    std::set<std::string> names;
    for (const RungText& rung : entry.rungs(plain_registry())) {
      CHECK(names.insert(rung.name).second);
      CHECK(!rung.removes.empty());
    }
  }
}

TEST_CASE("A ladder that does not exist is answered with the nearest name", "[kernels][chapter]") {
  CHECK_THROWS_WITH(find_ladder("sofmax"), ContainsSubstring("did you mean softmax?"));
}
