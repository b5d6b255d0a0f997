// The loop and the kernel that derives from it.
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;

TEST_CASE("The kernel that derives from the loop prints what the loop prints", "[kernels][chapter]") {
  static_cast<void>(test::accelerator());
  const test::Finished loop = test::run_program({test::built_program("softmax_cpu")});
  const test::Finished kernel = test::run_program({test::built_program("softmax_gpu")});
  REQUIRE(loop.exit_code == 0);
  REQUIRE(kernel.exit_code == 0);
  CHECK(!loop.out.empty());
  CHECK(kernel.out == loop.out);
}
