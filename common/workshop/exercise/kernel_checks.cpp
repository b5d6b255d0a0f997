#include "exercise/kernel_checks.hpp"

#include <bit>

#include "base/error.hpp"

namespace lockstep::exercise {

KernelCounts counts_of(const Outcome& outcome) {
  return counts_in(outcome.ranks.at(0).answer).value_or(KernelCounts{});
}

void expect_at_most(Check& check, const Outcome& outcome, const std::string& what, std::uint64_t count,
                    std::uint64_t bound, const std::string& unit, const std::string& next) {
  if (count <= bound) return;
  check.wrong(concat(what, " ", count, " ", unit, "; ", bound, " are enough"), next, outcome.ranks.at(0).remarks);
}

bool is_unwritten(float value) { return std::bit_cast<std::uint32_t>(value) == 0xffffffffU; }

}  // namespace lockstep::exercise
