#pragma once
/// @file
/// Which ranks have to draw the same random numbers, for the judge of exercise 10.5.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "10_tensor_parallel/5_random_numbers/random_numbers.hpp"
#include "base/text.hpp"

namespace lockstep::exercise::checks_10_5 {

using tensor_parallel::Draw;
using tensor_parallel::Place;
using tensor_parallel::Purpose;

/// Which ranks have to draw the same numbers for a purpose, and why.
struct Rule {
  Purpose purpose;
  const char* name;
  bool differs_by_data_rank, differs_by_tensor_rank;
  const char* data_reason;
  const char* tensor_reason;
};
inline constexpr std::array<Rule, 6> kRules = {{
    {Purpose::kOrder, "the order of samples", false, false,
     "if each data rank takes its share of another order, samples come twice or never",
     "the ranks of a tensor group read the same samples"},
    {Purpose::kWholeWeights, "the first values of a whole parameter", false, false,
     "data ranks begin with equal models", "a parameter that all have whole is one parameter"},
    {Purpose::kCutWeights, "the first values of a part of a matrix", false, true, "data ranks begin with equal models",
     "parts of one matrix must not be copies of each other"},
    {Purpose::kStreamDropout, "the dropout of the whole stream", true, false, "other samples need other masks",
     "a tensor group has one stream, and each rank has all of it"},
    {Purpose::kRowsDropout, "the dropout of divided rows", true, true, "other samples need other masks",
     "each tensor rank has other rows"},
    {Purpose::kAttentionDropout, "the dropout of attention", true, true, "other samples need other masks",
     "each tensor rank has other heads"},
}};

inline const Rule& rule_of(Purpose purpose) { return *std::ranges::find(kRules, purpose, &Rule::purpose); }

/// A draw on a rank.
struct Asked {
  Draw draw;
  Place place;
};

inline std::string text_of(const Asked& asked) {
  const auto& [draw, place] = asked;
  return concat(rule_of(draw.purpose).name, " (seed ", draw.seed, ", layer ", draw.layer, ", step ", draw.step,
                ", micro-batch ", draw.micro_batch, ") on data rank ", place.data_rank, ", tensor rank ",
                place.tensor_rank);
}

/// "the step and the micro-batch"
inline std::string difference_of(const Asked& a, const Asked& b) {
  std::vector<std::string> names;
  if (a.draw.purpose != b.draw.purpose) names.emplace_back("the purpose");
  if (a.draw.seed != b.draw.seed) names.emplace_back("the run's seed");
  if (a.draw.layer != b.draw.layer) names.emplace_back("the layer");
  if (a.draw.step != b.draw.step) names.emplace_back("the step");
  if (a.draw.micro_batch != b.draw.micro_batch) names.emplace_back("the micro-batch");
  if (a.place.data_rank != b.place.data_rank) names.emplace_back("the data rank");
  if (a.place.tensor_rank != b.place.tensor_rank) names.emplace_back("the tensor rank");
  std::string text = names.empty() ? "nothing" : names.front();
  for (std::size_t i = 1; i < names.size(); ++i) text += concat(i + 1 < names.size() ? ", " : " and ", names[i]);
  return text;
}

}  // namespace lockstep::exercise::checks_10_5
