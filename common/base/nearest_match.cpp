#include "base/nearest_match.hpp"

#include <algorithm>
#include <vector>

namespace lockstep {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // distance[i][j] compares the first i characters of a with the first j of b; one extra row and column for "none".
  std::vector<std::vector<std::size_t>> distance(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distance[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({replaced, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

namespace {

bool is_close(std::string_view word, std::string_view candidate, std::size_t distance) {
  const bool is_prefix = word.size() >= 3 && (candidate.starts_with(word) || word.starts_with(candidate));
  return is_prefix || distance * 3 <= std::max(word.size(), candidate.size());
}

}  // namespace

std::optional<std::string> nearest_match(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (is_close(word, candidate, distance) && (!best || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::optional<std::string> match = nearest_match(word, candidates);
  return match ? "; did you mean " + *match + "?" : "";
}

}  // namespace lockstep
