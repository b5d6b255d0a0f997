#include "base/number_list.hpp"

#include "base/text.hpp"

namespace lockstep {

std::string list_numbers(std::span<const int> numbers) {
  const bool has_ranges = numbers.size() > kMostListed;
  std::string text;
  std::size_t shown = 0, parts = 0;
  while (shown < numbers.size() && parts < kMostListed) {
    std::size_t end = shown + 1;  // of the range that begins here
    while (has_ranges && end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - shown == 2) --end;  // two numbers are no range
    text += concat(text.empty() ? "" : ", ", numbers[shown]);
    if (end - shown > 1) text += concat("-", numbers[end - 1]);
    shown = end;
    ++parts;
  }
  if (shown < numbers.size()) text += concat(" and ", numbers.size() - shown, " more");
  return text;
}

}  // namespace lockstep
