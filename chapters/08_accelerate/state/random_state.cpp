#include "08_accelerate/state/random_state.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/philox.hpp"

namespace lockstep::accelerate {
namespace {

constexpr std::uint64_t kWordsOfBlock = 4;

}  // namespace

RandomState::result_type RandomState::operator()() noexcept {
  const std::uint64_t word = drawn_++;
  return philox4x32(seed_, rank_, word / kWordsOfBlock)[word % kWordsOfBlock];
}

void RandomState::reseed(std::uint64_t seed) noexcept {
  seed_ = seed;
  drawn_ = 0;
}

nlohmann::json RandomState::state_dict() const { return {{"seed", seed_}, {"drawn", drawn_}}; }

void RandomState::load_state_dict(const nlohmann::json& state) {
  const auto is_number = [&state](const char* name) {
    return state.is_object() && state.contains(name) && state.at(name).is_number_unsigned();
  };
  if (!is_number("seed") || !is_number("drawn"))
    throw FormatError("the state of a random generator has no whole numbers 'seed' and 'drawn'");
  seed_ = state.at("seed").get<std::uint64_t>();
  drawn_ = state.at("drawn").get<std::uint64_t>();
}

}  // namespace lockstep::accelerate
