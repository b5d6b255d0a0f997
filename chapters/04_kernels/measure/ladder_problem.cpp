#include "04_kernels/measure/ladder_problem.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace lockstep::ladders {

Verdict Problem::check(int rung) {
  reset();
  enqueue(rung, nullptr);
  cuda_check(cudaGetLastError(), concat("launching rung ", rung + 1));
  return verdict();
}

Verdict compare(std::span<const float> got, std::span<const Expected> expected) {
  require(got.size() == expected.size(), "compare: ", got.size(), " values, ", expected.size(), " expected");
  Verdict verdict;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - expected[i].value);
    double units = error == 0 ? 0 : error / expected[i].allowed;  // infinite if equality is required
    if (std::isnan(units)) units = INFINITY;
    if (units <= verdict.worst) continue;
    verdict.worst = units;
    verdict.detail = concat("element ", i, " is ", got[i], ", the CPU says ", expected[i].value);
  }
  return verdict;
}

bool meets(Requirement requirement, int columns) {
  switch (requirement) {
    case Requirement::kNone:
      return true;
    case Requirement::kMultiplesOf4:
      return columns % 4 == 0;
    case Requirement::kMultiplesOf8:
    case Requirement::kHopper:
      return columns % 8 == 0;
    case Requirement::kShortRows:
      return columns % 4 == 0 && columns <= 1024;
  }
  return false;
}

std::vector<float> whole_numbers(std::size_t count, int most, std::uint64_t key) {
  PhiloxSequence random(key);
  std::vector<float> values(count);
  const auto choices = static_cast<std::uint32_t>(2 * most + 1);
  for (float& value : values) value = static_cast<float>(static_cast<int>(random.next_word() % choices) - most);
  return values;
}

std::vector<float> real_numbers(std::size_t count, float most, std::uint64_t key) {
  PhiloxSequence random(key);
  std::vector<float> values(count);
  for (float& value : values) value = most * (2 * uniform_float(random.next_word()) - 1);
  return values;
}

}  // namespace lockstep::ladders
