#include "exercise/array_difference.hpp"

#include <limits>

#include "exercise/examination.hpp"
#include "support/catch.hpp"

namespace lockstep::exercise {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

const std::vector<double> kExpected = {1, -2, 0.5, 4, 0};

// The explanation of `got` in place of kExpected.
std::string said_of(const std::vector<float>& got, const ArrayKnowledge& knowledge = {}) {
  return explain_array(got, kExpected, {.relative = 1e-5, .absolute = 1e-7}, knowledge);
}

}  // namespace

TEST_CASE("a function that adds to what it was to overwrite is told so, and what was there", "[exercise]") {
  const std::vector<float> before(5, 1000);
  CHECK_THAT(said_of({1001, 998, 1000.5, 1004, 1000}, {.before = before}),
             ContainsSubstring("added to what was in the buffer before the call (1000)"));
  // Only two elements are wrong.
  CHECK_THAT(said_of({1, 998, 0.5, 1004, 0}, {.before = before}), ContainsSubstring("added to what was in the buffer"));
  CHECK_THAT(said_of({1000, 1000, 1000, 1000, 1000}, {.before = before}), ContainsSubstring("has not written here"));
  CHECK_THAT(said_of({1, -2, 0.5, 4, 1000}, {.before = before}), ContainsSubstring("has not written here"));
  CHECK_THAT(said_of({1001, -2, 0.5, 5, 0}, {.before = before}), !ContainsSubstring("buffer"));
}

TEST_CASE("a function that overwrites what it was to add to is told so", "[exercise]") {
  const std::vector<float> before = {100, 200, 300, 400, 0};
  const std::vector<double> expected = {101, 198, 300.5, 404, 0};
  const ArrayKnowledge knowledge{.before = before, .buffer = Buffer::kAddedTo};
  const auto said = [&](const std::vector<float>& got) {
    return explain_array(got, expected, {.relative = 1e-6}, knowledge);
  };
  CHECK_THAT(said({1, -2, 0.5, 4, 0}), ContainsSubstring("(100) is gone: your function was to add to it"));
  CHECK_THAT(said({201, 398, 600.5, 804, 0}), ContainsSubstring("added twice"));
  CHECK_THAT(said({100, 200, 300, 400, 0}), ContainsSubstring("has added nothing to it"));
}

TEST_CASE("a factor that all elements have in common is named", "[exercise]") {
  const ArrayKnowledge knowledge{.factors = {{3, "the sum is not divided"}, {1.0 / 3, "it is divided twice"}}};
  CHECK_THAT(said_of({3, -6, 1.5, 12, 0}, knowledge),
             Equals("every element is 3 times the right one: the sum is not divided"));
  CHECK_THAT(said_of({1.0F / 3, -2.0F / 3, 0.5F / 3, 4.0F / 3, 0}, knowledge),
             ContainsSubstring("it is divided twice"));
  CHECK_THAT(said_of({1000, -2000, 500, 4000, 0}, knowledge),
             ContainsSubstring("1000 times the right one: is a factor"));
  CHECK_THAT(said_of({-1, 2, -0.5, -4, 0}, knowledge), Equals("every element has the wrong sign"));
  CHECK_THAT(said_of({0, 0, 0, 0, 0}, knowledge), Equals("all elements are 0"));
  // Zeros must stay zeros, some elements may be right, and infinities have no factor.
  CHECK(said_of({3, -6, 1.5, 12, 1}, knowledge).empty());
  CHECK(said_of({3, -6, 1.5, 11, 0}, knowledge).empty());
  CHECK(said_of({std::numeric_limits<float>::infinity(), -6, 1.5, 12, 0}, knowledge).empty());
  // Two ranks less one is one rank: a nonexistent factor must be ignored.
  const ArrayKnowledge nonsense{.factors = {{std::numeric_limits<double>::infinity(), "nonsense"}}};
  CHECK_THAT(said_of({3, -6, 1.5, 12, 0}, nonsense), !ContainsSubstring("nonsense"));
}

TEST_CASE("one number has no factor in common with others", "[exercise]") {
  const std::vector<double> expected = {2, 0, 0};
  CHECK(explain_array(std::vector<float>{6, 0, 0}, expected, {}, {.factors = {{3, "not divided"}}}).empty());
}

TEST_CASE("elements in each other's places, and a loop that ends too early, are recognised", "[exercise]") {
  CHECK_THAT(said_of({-2, 0.5, 4, 0, 0}), ContainsSubstring("belongs behind it: an index is off by one"));
  CHECK_THAT(said_of({9, 1, -2, 0.5, 4}), ContainsSubstring("belongs before it: an index is off by one"));
  CHECK_THAT(said_of({1, -2, 0.5, 4, 7}), ContainsSubstring("only the last element is wrong"));
  CHECK(said_of({1, -2, 0.5, 7, 0}).empty());
  // Equal neighbours carry no information on places.
  const std::vector<double> equal(6, 2);
  CHECK_THAT(explain_array(std::vector<float>{2, 2, 2, 2, 2, 5}, equal, {}, {}), !ContainsSubstring("off by one"));
}

TEST_CASE("the wrong formula that gives these numbers is named, and no other", "[exercise]") {
  const auto constant = [](std::vector<double> values) { return [=] { return values; }; };
  const std::vector<WrongFormula> formulas = {{"it is right", constant(kExpected)},
                                              {"the length is wrong", constant({1})},
                                              {"the first is doubled", constant({2, -2, 0.5, 4, 0})},
                                              {"the second is missing", constant({1, 0, 0.5, 4, 0})}};
  CHECK_THAT(said_of({1, 0, 0.5, 4, 0}, {.formulas = formulas}),
             Equals("that is what comes out if the second is missing"));
  CHECK(said_of({1, 1, 0.5, 4, 0}, {.formulas = formulas}).empty());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(said_of({1, static_cast<float>(nan), 0.5, 4, 0}, {.formulas = {{"0 / 0", constant({1, nan, 0.5, 4, 0})}}}),
             ContainsSubstring("0 / 0"));
}

TEST_CASE("what an array reveals is said in place of what its first wrong element means", "[exercise]") {
  const Subject none{};
  Check check(none, 1);
  const auto summary_of = [&](const std::vector<float>& got, const Comparison& comparison) -> std::string {
    try {
      check.compare("the sums", got, kExpected, comparison);
    } catch (const CheckFailed& failed) {
      return failed.failure.summary;
    }
    return "passed";
  };
  const auto explain = [](std::size_t, double, double) { return std::string("the element's own meaning"); };
  CHECK_THAT(summary_of({2, -4, 1, 8, 0}, {.explain = explain}),
             Equals("the sums, element 0: expected 1, got 2: the element's own meaning"));
  CHECK_THAT(summary_of({2, -4, 1, 8, 0}, {.explain = explain, .knowledge = ArrayKnowledge{}}),
             ContainsSubstring("every element is 2 times the right one"));
  CHECK_THAT(summary_of({2, -4, 1, 7, 0}, {.explain = explain, .knowledge = ArrayKnowledge{}}),
             ContainsSubstring("the element's own meaning"));
  CHECK(summary_of({1, -2, 0.5, 4, 0}, {.explain = explain, .knowledge = ArrayKnowledge{}}) == "passed");
}

}  // namespace lockstep::exercise
