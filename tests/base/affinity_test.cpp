#include "base/affinity.hpp"

#include <future>
#include <thread>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("all threads of a process, old and new, stay on the processors they are told", "[base]") {
  const std::vector<int> before = allowed_cpus();
  REQUIRE_FALSE(before.empty());
  std::promise<void> restricted;
  std::future<std::vector<int>> of_older_thread = std::async(std::launch::async, [&] {
    restricted.get_future().wait();
    return allowed_cpus();
  });
  const std::vector<int> one{before.back()};
  restrict_to_cpus(one);
  restricted.set_value();
  const std::vector<int> of_older = of_older_thread.get(), of_this = allowed_cpus();
  const std::vector<int> of_newer = std::async(std::launch::async, allowed_cpus).get();
  restrict_to_cpus(before);
  CHECK(of_older == one);
  CHECK(of_this == one);
  CHECK(of_newer == one);
  CHECK(allowed_cpus() == before);
}

TEST_CASE("no processor at all is refused", "[base]") {
  CHECK_THROWS_AS(restrict_to_cpus({}), ContractError);
  const std::vector<int> negative{-1};
  CHECK_THROWS_AS(restrict_to_cpus(negative), ContractError);
}
