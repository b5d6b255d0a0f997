#include "support/catch.hpp"
#include "support/pair_checks.hpp"

TEST_CASE("train_mlp_nccl trains what train_mlp_single trains", "[nccl][chapter][multirank]") {
  // As for train_mlp_ring, from which it differs in the group alone.
  lockstep::test::check_pair("train_mlp_single", "train_mlp_nccl", 1e-5);
}
