#include "base/nearest_match.hpp"

#include <array>

#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps", "[base]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("steps", "step") == 1);
  CHECK(edit_distance("sepo", "seop") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("a slip of the fingers finds what was meant, another word finds nothing", "[base]") {
  const std::array<std::string, 4> models{"tiny", "small", "tutorial", "124m"};
  CHECK(nearest_match("tinny", models) == "tiny");
  CHECK(nearest_match("samll", models) == "small");
  CHECK(nearest_match("tut", models) == "tutorial");
  CHECK_FALSE(nearest_match("enormous", models).has_value());
  CHECK(did_you_mean("124", models) == "; did you mean 124m?");
  CHECK(did_you_mean("", models).empty());
}
