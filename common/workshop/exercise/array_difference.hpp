#pragma once
/// @file
/// What a whole array of wrong numbers says about the mistake that made them. A single element rarely tells a missing
/// factor from a wrong formula; all of them together do.
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::exercise {

/// What a call does with the numbers that its buffer holds already.
enum class Buffer {
  kOverwritten,  ///< They mean nothing.
  kAddedTo       ///< The result is added to them: the expected numbers contain them.
};

/// A factor that is easily forgotten, or applied twice.
struct KnownFactor {
  double value;      ///< got = value * expected. Not 1.
  std::string what;  ///< Continues "every element is 0.5 times the right one: ".
};

/// A wrong way to compute an array.
struct WrongFormula {
  std::string what;                             ///< Continues "that is what comes out if ".
  std::function<std::vector<double>()> values;  ///< All elements of the array; called only after a failure.
};

/// What is known of an array, for explaining how it went wrong.
struct ArrayKnowledge {
  std::span<const float> before = {};       ///< What the judge had put there; empty: nothing that matters.
  Buffer buffer = Buffer::kOverwritten;     ///< What the function was to do with that.
  std::vector<KnownFactor> factors = {};    ///< Tried in this order.
  std::vector<WrongFormula> formulas = {};  ///< Tried in this order.
};

/// How far numbers may be from one another and still be equal.
struct Tolerance {
  double relative = 0;  ///< Of the larger number.
  double absolute = 0;  ///< Added to it.

  /// Whether `got` is `expected`, up to rounding. Two NaN are equal, and so are two infinities of one sign.
  [[nodiscard]] bool accepts(double got, double expected) const;
};

/// What all wrong elements have in common: they are what was there before, plus the result or without it; what a wrong
/// formula gives; the right ones times a factor; their neighbours'; or only the last one is wrong.
/// @param got, expected  Of the same length; at least one element is wrong.
/// @return  A clause such as "your function has added to what was in the buffer before the call (1000)"; empty if
///          nothing fits.
[[nodiscard]] std::string explain_array(std::span<const float> got, std::span<const double> expected,
                                        const Tolerance& tolerance, const ArrayKnowledge& knowledge);

/// "that is what comes out if A, or if B": at most three causes that cannot be told apart; empty if there is none.
[[nodiscard]] std::string what_comes_out(std::span<const std::string> causes);

/// The formulas that give these numbers, as what_comes_out() puts it; empty if none does, or if the right numbers
/// differ too little from what it gives to tell.
/// @param got       One array after another, as the formulas give them. @param expected  The right numbers.
[[nodiscard]] std::string explain_formula(std::span<const float> got, std::span<const double> expected,
                                          const Tolerance& tolerance, std::span<const WrongFormula> formulas);

}  // namespace lockstep::exercise
