#include "launch/local/stream_choice.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace lockstep::launch {
namespace {

// All of `text` as a whole number from 0 to `maximum`.
std::optional<int> number_in(std::string_view text, int maximum) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size() && number >= 0 && number <= maximum;
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<StreamChoice> StreamChoice::parse(const std::string& text) {
  constexpr int kBoth = 3, kMostRanks = 1 << 20;
  if (const auto of_all = number_in(text, kBoth)) return StreamChoice(static_cast<unsigned>(*of_all));
  StreamChoice choice;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto rank = number_in(part.substr(0, colon), kMostRanks), streams = number_in(part.substr(colon + 1), kBoth);
    if (!rank || !streams || !choice.of_ranks_.emplace(*rank, *streams).second) return std::nullopt;
    begin = end + 1;
  }
  return choice;
}

bool StreamChoice::contains(int local_rank, OutputStream stream) const noexcept {
  const auto found = of_ranks_.find(local_rank);
  const unsigned streams = found == of_ranks_.end() ? of_all_ : found->second;
  return (streams & (stream == OutputStream::kOut ? 1U : 2U)) != 0;
}

}  // namespace lockstep::launch
