// Random numbers of a rank, saved and continued.
#include "08_accelerate/state/random_state.hpp"

#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using accelerate::RandomState;

static_assert(std::uniform_random_bit_generator<RandomState>);

namespace {

std::vector<std::uint32_t> draw(RandomState& random, int count) {
  std::vector<std::uint32_t> words;
  for (int i = 0; i < count; ++i) words.push_back(random());
  return words;
}

}  // namespace

TEST_CASE("a rank's words are those of its Philox stream, and no other rank's", "[accelerate][random]") {
  RandomState random(11, 3);
  PhiloxSequence expected(11, 3);
  const auto words = draw(random, 13);
  for (const std::uint32_t word : words) CHECK(word == expected.next_word());
  RandomState other(11, 2);
  CHECK(draw(other, 13) != words);
}

TEST_CASE("a saved generator goes on where it stood", "[accelerate][random]") {
  RandomState random(11, 3);
  (void)draw(random, 6);
  const nlohmann::json state = random.state_dict();
  const auto next = draw(random, 5);
  RandomState loaded(1, 3);
  loaded.load_state_dict(state);
  CHECK(draw(loaded, 5) == next);
  random.reseed(12);
  CHECK(draw(random, 5) != next);
  CHECK_THROWS_AS(loaded.load_state_dict({{"seed", 1}}), FormatError);
  CHECK_THROWS_AS(loaded.load_state_dict(nlohmann::json::array()), FormatError);
}
