#include "support/catch.hpp"
#include "support/pair_checks.hpp"

TEST_CASE("train_linear_star trains what train_linear_single trains", "[star][chapter][multirank]") {
  // An element of the gradient is a mean over 48 samples, added in another order: that moves it by at most
  // 48 * 2^-24 = 3e-6 of the mean magnitude of what is added. SGD's updates, a tenth of the gradient each, shrink with
  // the loss, so the sum of these errors stays below the same share of the first loss. Measured: 3e-8.
  lockstep::test::check_pair("train_linear_single", "train_linear_star", 3e-6);
}
