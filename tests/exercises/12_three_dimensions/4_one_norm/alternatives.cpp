#include "exercise/alternatives.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "12_three_dimensions/4_one_norm/one_norm.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"gathers_shares", "the bits of all shares are gathered, and each rank adds them up in the same order"},
    {"as_pytorch", "the factor is min(1, max_norm / (norm + 1e-6)), in float64"},
    {"reports_trouble", "a second number says whether an element is not finite"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::one_norm {

using exercise::is_alternative;

namespace {

// The sum, and the number of ranks whose share is not finite.
struct Sum {
  double squares = 0, broken = 0;
};

Sum gathered(double own, ShardCollectives& world) {
  Sum sum;
  const auto bits = std::bit_cast<std::int64_t>(own);
  for (const std::int64_t share : world.gather_rows(std::span(&bits, 1))) sum.squares += std::bit_cast<double>(share);
  return sum;
}

Sum reduced(double own, ShardCollectives& world) {
  std::vector<double> numbers{own};
  if (is_alternative("reports_trouble")) numbers.push_back(std::isfinite(own) ? 0 : 1);
  world.all_reduce(std::span(numbers)).synchronize();
  return {numbers.front(), numbers.size() > 1 ? numbers.back() : 0};
}

}  // namespace

// From the last part to the first, and with larger precision.
double own_squares(std::span<const Part> parts, const Place& place) {
  long double squares = 0;
  std::for_each(parts.rbegin(), parts.rend(), [&](const Part& part) {
    if (part.is_borrowed) return;
    if (part.along_tensor == Spread::kCopied && place.tensor > 0) return;
    if (part.along_data == Spread::kCopied && place.data > 0) return;
    for (const float element : part.gradient) squares += std::pow(static_cast<long double>(element), 2.0L);
  });
  return static_cast<double>(squares);
}

double clip_gradient(std::span<const Part> parts, const Place& place, double max_norm, ShardCollectives& world) {
  const double own = own_squares(parts, place);
  const Sum sum = is_alternative("gathers_shares") ? gathered(own, world) : reduced(own, world);
  const double norm = std::sqrt(sum.squares);
  if (sum.broken > 0 || !std::isfinite(norm)) return norm;
  const double factor = std::min(1.0, max_norm / (norm + (is_alternative("as_pytorch") ? 1e-6 : 0)));
  for (const Part& part : parts)  // the borrowed table as well: nobody reads it
    for (float& element : part.gradient) element = static_cast<float>(static_cast<double>(element) * factor);
  return norm;
}

}  // namespace lockstep::one_norm
