#include "launch/cores.hpp"

#include <algorithm>

#include "base/affinity.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"

TEST_CASE("there is a core, and at least as many threads as cores", "[launch]") {
  const lockstep::launch::Cores cores = lockstep::launch::usable_cores();
  CHECK(cores.physical >= 1);
  CHECK(cores.logical >= cores.physical);
}

TEST_CASE("the ranks' shares of the processors are disjoint and leave none out", "[launch]") {
  const std::vector<int> all = lockstep::allowed_cpus();
  const int world_size = GENERATE(1, 2, 3, 5);
  std::vector<int> shared_out;
  for (int rank = 0; rank < world_size; ++rank) {
    const std::vector<int> share = lockstep::launch::share_of_cpus(rank, world_size);
    CHECK_FALSE(share.empty());
    CHECK(share.size() <= all.size() / static_cast<std::size_t>(world_size) + 1);
    shared_out.insert(shared_out.end(), share.begin(), share.end());
  }
  std::ranges::sort(shared_out);
  if (static_cast<std::size_t>(world_size) > all.size()) {  // some are shared
    CHECK(shared_out.size() == static_cast<std::size_t>(world_size));
    shared_out.erase(std::unique(shared_out.begin(), shared_out.end()), shared_out.end());
  }
  CHECK(shared_out == all);
}

TEST_CASE("a rank that there is not has no share", "[launch]") {
  CHECK_THROWS_AS(lockstep::launch::share_of_cpus(2, 2), lockstep::ContractError);
  CHECK_THROWS_AS(lockstep::launch::share_of_cpus(-1, 2), lockstep::ContractError);
}
