#include "exercise/array_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/text.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace {

// An array with wrong elements, and their indices.
class WrongArray {
 public:
  WrongArray(std::span<const float> got, std::span<const double> expected, const Tolerance& tolerance)
      : got_(got), expected_(expected), tolerance_(tolerance) {
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!tolerance.accepts(got[i], expected[i])) wrong_.push_back(i);
  }

  [[nodiscard]] std::string explain_buffer(std::span<const float> before, Buffer buffer) const;
  [[nodiscard]] std::string explain_factor(const std::vector<KnownFactor>& known) const;
  [[nodiscard]] std::string explain_place() const;

 private:
  [[nodiscard]] bool are_wrong_ones(const auto& holds) const {
    return !wrong_.empty() && std::ranges::all_of(wrong_, holds);
  }
  [[nodiscard]] std::optional<double> factor() const;
  [[nodiscard]] bool is_shifted_by(std::ptrdiff_t distance) const;

  std::span<const float> got_;
  std::span<const double> expected_;
  Tolerance tolerance_;
  std::vector<std::size_t> wrong_;
};

std::string WrongArray::explain_buffer(std::span<const float> before, Buffer buffer) const {
  if (before.size() != got_.size() || wrong_.empty()) return "";
  const auto is = [&](std::size_t i, double value) {
    // A sum with the old contents is rounded like them.
    return Tolerance{tolerance_.relative + 2e-7, tolerance_.absolute + 4e-7 * std::abs(before[i])}.accepts(got_[i],
                                                                                                           value);
  };
  const auto differs = [&](std::size_t i) { return before[i] != 0 && !tolerance_.accepts(before[i], expected_[i]); };
  if (!are_wrong_ones(differs)) return "";
  const std::string there = concat("what was in the buffer before the call (", shown(before[wrong_.front()]), ")");
  if (are_wrong_ones([&](std::size_t i) { return got_[i] == before[i]; }))
    return buffer == Buffer::kOverwritten ? concat("that is ", there, ": your function has not written here")
                                          : concat("that is ", there, ": your function has added nothing to it");
  if (buffer == Buffer::kOverwritten) {
    if (are_wrong_ones([&](std::size_t i) { return is(i, expected_[i] + before[i]); }))
      return concat("your function has added to ", there, ", which was to be overwritten");
    return "";
  }
  if (are_wrong_ones([&](std::size_t i) { return is(i, expected_[i] - before[i]); }))
    return concat(there, " is gone: your function was to add to it");
  if (are_wrong_ones([&](std::size_t i) { return is(i, expected_[i] + before[i]); }))
    return concat(there, " has been added twice");
  return "";
}

// The factor common to all elements that are informative.
std::optional<double> WrongArray::factor() const {
  std::optional<double> found;
  std::size_t telling = 0;
  double largest = 0;
  for (const double value : expected_) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < got_.size(); ++i) {
    if (!std::isfinite(got_[i])) return std::nullopt;
    const double noise = 20 * tolerance_.absolute + 1e-6 * largest;
    if (std::abs(expected_[i]) <= noise) {
      if (found && std::abs(got_[i]) > noise * std::max(1.0, std::abs(*found))) return std::nullopt;
      continue;
    }
    const double ratio = got_[i] / expected_[i];
    if (!found) found = ratio;
    if (std::abs(ratio - *found) > 2e-3 * std::abs(*found)) return std::nullopt;
    ++telling;
  }
  // Two numbers can share a ratio by chance, three hardly.
  return telling >= 2 ? found : std::nullopt;
}

std::string WrongArray::explain_factor(const std::vector<KnownFactor>& known) const {
  const std::optional<double> found = factor();
  if (!found || std::abs(*found - 1) < 2e-3) return "";
  if (*found == 0) return "all elements are 0";
  for (const auto& [value, what] : known)
    if (std::isfinite(value) && std::abs(*found - value) <= 2e-3 * std::abs(value))
      return concat("every element is ", shown(value), " times the right one: ", what);
  if (std::abs(*found + 1) < 2e-3) return "every element has the wrong sign";
  const auto [least, most] = std::ranges::minmax(expected_);
  if (tolerance_.accepts(least, most)) return "";  // equal numbers always share a factor
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", *found);
  return concat("every element is ", text, " times the right one: is a factor missing, or there twice?");
}

bool WrongArray::is_shifted_by(std::ptrdiff_t distance) const {
  std::size_t alike = 0;
  for (std::ptrdiff_t i = 0; i < std::ssize(got_); ++i) {
    const std::ptrdiff_t other = i + distance;
    if (other < 0 || other >= std::ssize(got_)) continue;
    const double here = expected_[static_cast<std::size_t>(i)], there = expected_[static_cast<std::size_t>(other)];
    if (!tolerance_.accepts(got_[static_cast<std::size_t>(i)], there)) return false;
    if (!tolerance_.accepts(here, there)) ++alike;  // equal neighbours carry no information
  }
  return alike >= 3;
}

std::string WrongArray::explain_place() const {
  for (const std::ptrdiff_t distance : {1, -1})
    if (is_shifted_by(distance))
      return concat("every element is the one that belongs ", distance > 0 ? "behind" : "before",
                    " it: an index is off by one");
  if (got_.size() >= 3 && wrong_.size() == 1 && wrong_.front() + 1 == got_.size())
    return "only the last element is wrong: does a loop end one too early?";
  return "";
}

}  // namespace

bool Tolerance::accepts(double got, double expected) const {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return true;
  if (!std::isfinite(got) || !std::isfinite(expected)) return false;
  return std::abs(got - expected) <= relative * std::abs(expected) + absolute;
}

std::string explain_formula(std::span<const float> got, std::span<const double> expected, const Tolerance& tolerance,
                            std::span<const WrongFormula> formulas) {
  const auto equal = [&](std::span<const double> values, const auto& of) {
    if (values.size() != got.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!tolerance.accepts(of(i), values[i])) return false;
    return true;
  };
  std::vector<std::string> fitting;
  for (const WrongFormula& formula : formulas) {
    const std::vector<double> values = formula.values();
    if (equal(values, [&](std::size_t i) -> double { return got[i]; }) &&
        !equal(values, [&](std::size_t i) { return expected[i]; }))
      fitting.push_back(formula.what);
  }
  return what_comes_out(fitting);
}

std::string what_comes_out(std::span<const std::string> causes) {
  constexpr std::size_t kMost = 3;  // more would not be informative
  std::string text;
  for (const std::string& cause : causes.first(std::min(causes.size(), kMost)))
    text += concat(text.empty() ? "that is what comes out if " : ", or if ", cause);
  return text;
}

std::string explain_array(std::span<const float> got, std::span<const double> expected, const Tolerance& tolerance,
                          const ArrayKnowledge& knowledge) {
  const WrongArray array(got, expected, tolerance);
  if (std::string text = array.explain_buffer(knowledge.before, knowledge.buffer); !text.empty()) return text;
  if (std::string text = explain_formula(got, expected, tolerance, knowledge.formulas); !text.empty()) return text;
  if (std::string text = array.explain_factor(knowledge.factors); !text.empty()) return text;
  return array.explain_place();
}

}  // namespace lockstep::exercise
