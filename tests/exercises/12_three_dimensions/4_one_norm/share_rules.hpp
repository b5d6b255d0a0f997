#pragma once
/// @file
/// Who counts what, right or wrong: for the judge of exercise 12.4.
#include <cmath>
#include <string>

#include "grid_gradient.hpp"

namespace lockstep::exercise {

/// A rule for shares, right or wrong; `what` completes "that is what comes out if ".
struct ShareRule {
  enum class Copies { kOnce, kOnEach, kNever };

  const char* what = "";
  Copies on_tensor_axis = Copies::kOnce, on_data_axis = Copies::kOnce;
  bool norms_only_once = false;  ///< Of what tensor ranks copy, norms count once, and biases on each rank.
  bool either_place = false;     ///< Copies along both axes count if one of the two places is 0.
  bool cut_on_tensor_zero = false, cut_on_data_zero = false;
  bool copies_on_stage_zero = false;
  bool borrowed = false;
};

inline constexpr ShareRule kWrongShares[] = {
    {.what = "what tensor ranks copy counts on each of them", .on_tensor_axis = ShareRule::Copies::kOnEach},
    {.what = "what data ranks copy counts on each of them", .on_data_axis = ShareRule::Copies::kOnEach},
    {.what = "all copies count on every rank that has them",
     .on_tensor_axis = ShareRule::Copies::kOnEach,
     .on_data_axis = ShareRule::Copies::kOnEach},
    {.what = "what tensor ranks copy counts on none of them", .on_tensor_axis = ShareRule::Copies::kNever},
    {.what = "what data ranks copy counts on none of them", .on_data_axis = ShareRule::Copies::kNever},
    {.what = "no copy counts anywhere",
     .on_tensor_axis = ShareRule::Copies::kNever,
     .on_data_axis = ShareRule::Copies::kNever},
    {.what = "norms count once and other copies, such as biases, on every tensor rank", .norms_only_once = true},
    {.what = "what both axes copy counts on ranks with one place of 0; both have to be 0", .either_place = true},
    {.what = "tensor ranks other than 0 count nothing, and the parts that only they have are lost",
     .cut_on_tensor_zero = true},
    {.what = "data ranks other than 0 count nothing, and the shards that only they have are lost",
     .cut_on_data_zero = true},
    {.what = "only ranks with a tensor place and a data place of 0 count anything",
     .cut_on_tensor_zero = true,
     .cut_on_data_zero = true},
    {.what = "copies count on the first stage only, and later stages' own are lost", .copies_on_stage_zero = true},
    {.what = "the borrowed table counts, which is in the first stage's gradient already", .borrowed = true},
};

/// The result of own_squares() on a rank that follows this rule.
[[nodiscard]] inline double squares_of(const GridGradient& whole, int rank, const ShareRule& rule) {
  using one_norm::Spread;
  using Copies = ShareRule::Copies;
  const one_norm::Place place = whole.sides().place_of(rank);
  double squares = 0;
  for (const Parameter& parameter : whole.parameters()) {
    if (!GridGradient::is_on(parameter, place) || (parameter.is_borrowed && !rule.borrowed)) continue;
    const bool tensor_copies = parameter.along_tensor == Spread::kCopied;
    const bool data_copies = parameter.along_data == Spread::kCopied;
    const bool is_norm = parameter.name.find("norm") != std::string::npos;
    const auto counts = [](bool is_copied, int index, Copies copies, bool cut_on_zero) {
      if (!is_copied) return index == 0 || !cut_on_zero;
      return copies == Copies::kOnEach || (copies == Copies::kOnce && index == 0);
    };
    const Copies tensor_rule = rule.norms_only_once && !is_norm ? Copies::kOnEach : rule.on_tensor_axis;
    const bool by_tensor = counts(tensor_copies, place.tensor, tensor_rule, rule.cut_on_tensor_zero);
    const bool by_data = counts(data_copies, place.data, rule.on_data_axis, rule.cut_on_data_zero);
    const bool is_either = rule.either_place && tensor_copies && data_copies;
    const bool is_elsewhere = rule.copies_on_stage_zero && (tensor_copies || data_copies) && place.pipeline != 0;
    if (is_elsewhere || !(is_either ? by_tensor || by_data : by_tensor && by_data)) continue;
    for (const float element : whole.part(parameter, place)) squares += std::pow(static_cast<double>(element), 2);
  }
  return squares;
}

}  // namespace lockstep::exercise
