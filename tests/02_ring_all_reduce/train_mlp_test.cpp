#include "support/catch.hpp"
#include "support/pair_checks.hpp"

TEST_CASE("train_mlp_ring trains what train_mlp_single trains", "[ring][chapter][multirank]") {
  // As for the linear pair, 48 * 2^-24 = 3e-6 of the first loss through each layer's gradient, of which there are two,
  // rounded up. Adam turns a gradient into a step of fixed size, so where a gradient all but cancels, rounding may turn
  // a step's sign; but such an element hardly moves the loss. Measured: 5e-8.
  lockstep::test::check_pair("train_mlp_single", "train_mlp_ring", 1e-5);
}
