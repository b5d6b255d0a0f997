#include "launch/hosts/arrivals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace lockstep::launch {
namespace {

constexpr std::size_t kBars = 40;
// Shorter delays are scheduler noise.
constexpr std::int64_t kNoticeable_ns = 1'000'000;

/// One rank's delays after the first rank in nanoseconds, for each collective, oldest first.
using Delays = std::vector<std::int64_t>;

// Time at which each rank entered each collective of the whole job, by number.
std::map<std::uint64_t, std::map<int, std::int64_t>> entries_by_collective(const FlightFiles& records) {
  std::map<std::uint64_t, std::map<int, std::int64_t>> entered;
  for (const auto& [rank, record] : records.of_rank) {
    for (const comm::FlightEntry& entry : record.entries)
      if (is_of_all(entry)) entered[entry.fingerprint.sequence][rank] = entry.issued_ns;
  }
  return entered;
}

std::map<int, Delays> delays_of(const FlightFiles& records, std::size_t count) {
  auto entered = entries_by_collective(records);
  std::erase_if(entered, [&](const auto& each) { return each.second.size() < records.of_rank.size(); });
  while (entered.size() > count) entered.erase(entered.begin());
  std::map<int, Delays> delays;
  for (const auto& [sequence, of_rank] : entered) {
    const auto first = std::ranges::min_element(of_rank, {}, [](const auto& each) { return each.second; })->second;
    for (const auto& [rank, when] : of_rank) delays[rank].push_back(when - first);
  }
  return delays;
}

// Number of collectives in which each rank came last.
std::map<int, int> times_last(const std::map<int, Delays>& delays) {
  std::map<int, int> times;
  for (std::size_t i = 0; i < delays.begin()->second.size(); ++i) {
    const auto last = std::ranges::max_element(delays, {}, [i](const auto& each) { return each.second[i]; });
    if (last->second[i] > 0) ++times[last->first];
  }
  return times;
}

std::int64_t median(Delays delays) {
  const auto middle = delays.begin() + static_cast<std::ptrdiff_t>(delays.size() / 2);
  std::ranges::nth_element(delays, middle);
  return *middle;
}

// With up to three digits: "0.04 ms", "12.3 ms", "1.2 s".
std::string duration_text(std::int64_t nanoseconds) {
  const double milliseconds = static_cast<double>(nanoseconds) / 1e6;
  std::array<char, 32> text{};
  if (milliseconds >= 1000)
    std::snprintf(text.data(), text.size(), "%.1f s", milliseconds / 1000);
  else
    std::snprintf(text.data(), text.size(), milliseconds < 1 ? "%.2f ms" : "%.1f ms", milliseconds);
  return text.data();
}

// A bar is the longest of its delays; `longest` has the full height.
std::string bars(const Delays& delays, std::int64_t longest) {
  static constexpr std::array<std::string_view, 8> kHeights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t count = std::min(delays.size(), kBars);
  std::string text;
  for (std::size_t bar = 0; bar < count; ++bar) {
    const auto begin = delays.begin() + static_cast<std::ptrdiff_t>(bar * delays.size() / count);
    const auto end = delays.begin() + static_cast<std::ptrdiff_t>((bar + 1) * delays.size() / count);  // of the next
    const double share =
        static_cast<double>(*std::max_element(begin, end)) / static_cast<double>(std::max<std::int64_t>(longest, 1));
    text += kHeights[static_cast<std::size_t>(std::lround(share * (kHeights.size() - 1)))];  // - 1: of the highest
  }
  return text;
}

// The rank that came last in most of them, by more than noise.
std::string judgement(const std::map<int, Delays>& delays, const std::map<int, int>& last) {
  const auto count = static_cast<int>(delays.begin()->second.size());
  for (const auto& [rank, times] : last) {
    const std::int64_t typical = median(delays.at(rank));
    if (2 * times <= count || typical < kNoticeable_ns) continue;
    return concat("the others wait for rank ", rank, ", which comes last in ", times, " of ", count, ", ",
                  duration_text(typical), " after the first\n");
  }
  return "no rank stands out\n";
}

}  // namespace

std::string arrivals_summary(const FlightFiles& records, std::size_t count) {
  const std::map<int, Delays> delays = delays_of(records, count);
  if (delays.size() < 2) return "";
  const std::map<int, int> last = times_last(delays);
  std::int64_t longest = 0;
  for (const auto& [rank, of_rank] : delays) longest = std::max(longest, *std::ranges::max_element(of_rank));
  const std::size_t shown = delays.begin()->second.size();
  std::string text = concat("arrival at the last ", shown, shown == 1 ? " collective" : " collectives",
                            ", after the first rank on this host (a full bar is ", duration_text(longest), "):\n");
  for (const auto& [rank, of_rank] : delays) {
    const auto times = last.contains(rank) ? last.at(rank) : 0;
    text += concat("  rank ", rank, ": last ", times, times == 1 ? " time, " : " times, ",
                   duration_text(median(of_rank)), " in the median, ",
                   duration_text(*std::ranges::max_element(of_rank)), " at most  ", bars(of_rank, longest), "\n");
  }
  return text + judgement(delays, last);
}

}  // namespace lockstep::launch
