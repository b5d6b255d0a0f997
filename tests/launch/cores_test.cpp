#include "launch/cores.hpp"

#include "support/catch.hpp"

TEST_CASE("there is a core, and at least as many threads as cores", "[launch]") {
  const lockstep::launch::Cores cores = lockstep::launch::usable_cores();
  CHECK(cores.physical >= 1);
  CHECK(cores.logical >= cores.physical);
}
