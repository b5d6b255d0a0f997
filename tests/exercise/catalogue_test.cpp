#include "exercise/catalogue.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

namespace lockstep::exercise {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("an exercise is found by its number, with one digit too, and by its name", "[exercise]") {
  Exercise first, second;
  first.id = "02.1";
  first.name = "1_reduce_scatter";
  second.id = "02.2";
  second.name = "2_all_gather";
  const std::vector<Exercise> catalogue = {first, second};
  for (const char* word : {"02.2", "2.2", "02.2_all_gather", "all_gather"})
    CHECK(find_exercise(catalogue, word).id == "02.2");
  CHECK_THROWS_WITH(find_exercise(catalogue, "all_gathe"), ContainsSubstring("all_gather"));
  CHECK_THROWS_AS(find_exercise(catalogue, "7"), UsageError);
}

}  // namespace lockstep::exercise
