#pragma once
/// @file
/// Infers a mistake from a whole array of wrong numbers. A single element rarely distinguishes a missing factor from a
/// wrong formula; the whole array does.
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::exercise {

/// How a call treats the numbers already in its buffer.
enum class Buffer {
  kOverwritten,  ///< They are ignored.
  kAddedTo       ///< The result is added to them; the expected numbers include them.
};

/// A factor that is easily forgotten or applied twice.
struct KnownFactor {
  double value;      ///< got = value * expected. Not 1.
  std::string what;  ///< Completes "every element is 0.5 times the right one: ".
};

/// A wrong way to compute an array.
struct WrongFormula {
  std::string what;                             ///< Completes "that is what comes out if ".
  std::function<std::vector<double>()> values;  ///< All elements of the array; called only after a failure.
};

/// Facts about an array that help to explain how it went wrong.
struct ArrayKnowledge {
  std::span<const float> before = {};       ///< Contents set by the judge before the call; empty: irrelevant.
  Buffer buffer = Buffer::kOverwritten;     ///< How the function should treat `before`.
  std::vector<KnownFactor> factors = {};    ///< Tried in this order.
  std::vector<WrongFormula> formulas = {};  ///< Tried in this order.
};

/// How far two numbers may differ and still count as equal.
struct Tolerance {
  double relative = 0;  ///< Fraction of the larger number.
  double absolute = 0;  ///< Added to the relative part.

  /// True if `got` is `expected` up to rounding. Two NaN are equal, and so are two infinities of one sign.
  [[nodiscard]] bool accepts(double got, double expected) const;
};

/// The property shared by all wrong elements: they are the old contents, alone or plus the result; they fit a wrong
/// formula; they are the right ones times a factor; they are their neighbours'; or only the last one is wrong.
/// @param got, expected  Of the same length; at least one element is wrong.
/// @return  A clause such as "your function has added to what was in the buffer before the call (1000)"; empty if
///         nothing fits.
[[nodiscard]] std::string explain_array(std::span<const float> got, std::span<const double> expected,
                                        const Tolerance& tolerance, const ArrayKnowledge& knowledge);

/// "that is what comes out if A, or if B": at most three indistinguishable causes; empty if there is none.
[[nodiscard]] std::string what_comes_out(std::span<const std::string> causes);

/// The formulas that give these numbers, as formatted by what_comes_out(); empty if none does, or if its numbers are
/// too close to the right ones to tell.
/// @param got  One array after another, as the formulas give them. @param expected  The right numbers.
[[nodiscard]] std::string explain_formula(std::span<const float> got, std::span<const double> expected,
                                          const Tolerance& tolerance, std::span<const WrongFormula> formulas);

}  // namespace lockstep::exercise
