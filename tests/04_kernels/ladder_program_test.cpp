// The output of the program `ladder`.
#include "04_kernels/measure/backend.hpp"
#include "04_kernels/measure/problem.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using namespace lockstep::ladders;

namespace {

test::Finished ladder(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), test::built_program("ladder"));
  return test::run_program(arguments);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("ladder lists every rung of the registry", "[kernels][chapter]") {
  const test::Finished finished = ladder({});
  CHECK(finished.exit_code == 0);
  for (const LadderEntry& entry : all_ladders()) {
    for (const RungText& rung : entry.rungs(plain_registry())) {
      INFO(entry.name << " " << rung.name);
      CHECK(contains(finished.out, "  " + rung.name + " "));
      CHECK(contains(finished.out, rung.removes));
    }
  }
}

TEST_CASE("ladder answers a wrong name with the nearest one", "[kernels][chapter]") {
  const test::Finished finished = ladder({"reductoin"});
  CHECK(finished.exit_code == 2);
  CHECK(contains(finished.err, "there is no ladder reductoin; did you mean reduction?"));
}

TEST_CASE("ladder wants as many sizes as the ladder has", "[kernels][chapter]") {
  const test::Finished finished = ladder({"softmax", "--sizes", "4"});
  CHECK(finished.exit_code == 2);
  CHECK(contains(finished.err, "--sizes takes rows x columns"));
}

TEST_CASE("ladder refuses sizes whose elements its kernels cannot count", "[kernels][chapter]") {
  const test::Finished finished = ladder({"transpose", "--sizes", "65536,32768"});
  CHECK(finished.exit_code == 2);
  CHECK(
      contains(finished.err, "--sizes 65536 x 32768 makes an array of 2147483648 elements; the ladders' kernels take"));
  CHECK(ladder({"reduction", "--sizes", "2000000000"}).exit_code == 2);
  const test::Finished scores = ladder({"flash_attention", "--sizes", "64,8192"});  // one for each pair of positions
  CHECK(scores.exit_code == 2);
  CHECK(contains(scores.err, "--sizes 64 x 8192 makes an array of 4294967296 elements"));
}
