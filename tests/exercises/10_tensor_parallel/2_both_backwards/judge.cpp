#include <algorithm>
#include <cmath>

#include "../../require_awaited.hpp"
#include "base/error.hpp"
#include "cut_mlps.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_10_2 {

using Numbers = std::vector<std::int64_t>;

nlohmann::json array(const Values& values) { return to_message(std::span(values)); }

// The all-reduces that a rank should have issued, in any order.
void check_collectives(Check& check, const Outcome& outcome, int rank, const Numbers& expected,
                       const std::string& next) {
  const Numbers all_reduces = check.numbers<std::int64_t>(outcome, rank, "all_reduces");
  std::string shown_counts;
  for (std::size_t i = 0; i < std::min<std::size_t>(all_reduces.size(), 6); ++i)
    shown_counts += concat(i == 0 ? " of " : ", ", all_reduces[i]);
  check.expect(all_reduces == expected && check.get<std::int64_t>(outcome, rank, "others") == 0,
               concat("rank ", rank, " issued ", all_reduces.size(), " all-reduces", shown_counts, "; ",
                      expected.size() == 1 ? "one of " : concat(expected.size(), " of "), expected.at(0),
                      expected.size() == 1 ? " elements is right" : " elements each are right"),
               next);
}

std::string explained(const CutMlps& mlps, const CutInputs& inputs, const std::vector<CutResult>& got) {
  std::vector<std::string> causes;
  for (const WrongPasses& wrong : kWrongPasses)
    if (CutReference(mlps, inputs, wrong).results() == got) causes.emplace_back(wrong.what);
  const std::string cause = what_comes_out(causes);
  return cause.empty() ? "" : concat(": ", cause);
}

double norm_of(const Values& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

struct Seen {
  const CutMlps& mlps;
  const CutInputs& inputs;
  std::vector<CutResult> results;
};

void compare(Check& check, const Seen& seen, std::size_t rank, const std::string& name, const Values& got,
             const Values& expected) {
  const std::string place = concat(seen.mlps.ranks, " ranks, rank ", rank, ": ", name);
  if (got.empty())
    check.wrong(concat(place, " does not exist: backward has not come there"),
                "record() connects the result with the input; a Variable made of a tensor alone is data");
  check.expect(got.size() == expected.size(), "the program's answer makes no sense");
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    check.wrong(concat(place, ", element ", i, " is ", shown(expected[i]), " in the uncut MLP; here it is ",
                       shown(got[i]), " (norms ", shown(norm_of(expected)), " and ", shown(norm_of(got)), ")",
                       explained(seen.mlps, seen.inputs, seen.results)));
  }
}

nlohmann::json question_of(const CutMlps& mlps, const CutInputs& inputs, std::size_t rank) {
  nlohmann::json question = {{"kind", "blocks"},
                             {"rows", mlps.rows},
                             {"channels", mlps.channels},
                             {"hidden", mlps.hidden},
                             {"blocks", static_cast<int>(mlps.blocks)},
                             {"input", array(inputs.input)},
                             {"gradient", array(inputs.gradient)}};
  for (std::size_t block = 0; block < mlps.blocks; ++block) {
    question[concat("wide", block)] = array(inputs.wide[rank][block]);
    question[concat("narrow", block)] = array(inputs.narrow[rank][block]);
  }
  return question;
}

CutResult result_of(Check& check, const CutMlps& mlps, const Outcome& outcome, int rank) {
  CutResult result{.output = check.numbers<float>(outcome, rank, "output"),
                   .d_input = check.numbers<float>(outcome, rank, "d_input"),
                   .d_wide = {},
                   .d_narrow = {}};
  for (std::size_t block = 0; block < mlps.blocks; ++block) {
    result.d_wide.push_back(check.numbers<float>(outcome, rank, concat("d_wide", block)));
    result.d_narrow.push_back(check.numbers<float>(outcome, rank, concat("d_narrow", block)));
  }
  return result;
}

const Outcome& check_blocks(Check& check, CutMlps mlps, TrialOptions options = {}) {
  mlps.seed = check.seed();
  const CutInputs inputs(mlps);
  options.world_size = mlps.ranks;
  options.question = [&](int rank) { return question_of(mlps, inputs, static_cast<std::size_t>(rank)); };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, mlps.ranks);
  Seen seen{mlps, inputs, {}};
  for (int rank = 0; rank < mlps.ranks; ++rank) seen.results.push_back(result_of(check, mlps, outcome, rank));
  const CutReference reference(mlps, inputs, {});
  for (std::size_t r = 0; r < seen.results.size(); ++r)
    compare(check, seen, r, "the output", seen.results[r].output, reference.results()[r].output);
  for (std::size_t block = mlps.blocks; block-- > 0;) {
    for (std::size_t r = 0; r < seen.results.size(); ++r) {
      const CutResult &got = seen.results[r], &expected = reference.results()[r];
      const std::string of_block = concat(" of MLP ", block);
      compare(check, seen, r, concat("the gradient of the second matrix", of_block), got.d_narrow[block],
              expected.d_narrow[block]);
      compare(check, seen, r, concat("the gradient of the first matrix", of_block), got.d_wide[block],
              expected.d_wide[block]);
    }
  }
  for (std::size_t r = 0; r < seen.results.size(); ++r)
    compare(check, seen, r, "the gradient of the input", seen.results[r].d_input, reference.results()[r].d_input);
  for (int rank = 0; rank < mlps.ranks; ++rank) {
    if (mlps.ranks == 1 && check.numbers<std::int64_t>(outcome, rank, "all_reduces").empty()) continue;  // not needed
    check_collectives(check, outcome, rank, Numbers(2 * mlps.blocks, mlps.rows * mlps.channels),
                      "each MLP costs one all-reduce in forward, in sum_over_ranks(), and one in backward");
  }
  return outcome;
}

// sum_over_ranks() needs no element of its input in backward.
void check_memory(Check& check, const CutMlps& mlps) {
  const Outcome& outcome = check_blocks(check, mlps);
  for (int rank = 0; rank < mlps.ranks; ++rank) {
    check.expect(!check.get<bool>(outcome, rank, "keeps_terms"),
                 concat("rank ", rank, ": the elements of `partial` are still in memory after sum_over_ranks(), until ",
                        "backward has passed"),
                 "capture partial.without_value()");
  }
}

// Rank r contributes 8^r times a small number for each element.
Values code_of(int rank, std::int64_t count) {
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::pow(8.0, rank)) * static_cast<float>(i % 3 + 1);
  return values;
}
Values sum_of_codes(int ranks, std::int64_t count) {
  Values sum(static_cast<std::size_t>(count));
  for (int rank = 0; rank < ranks; ++rank) {
    const Values code = code_of(rank, count);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += code[i];
  }
  return sum;
}

// The ranks that were counted, according to all wrong elements; empty if these do not agree.
std::string meaning_of(int ranks, const Values& got, const Values& expected) {
  std::string meaning;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    const std::string here = explain_sum(got[i] / static_cast<float>(i % 3 + 1), ranks);
    if (here.empty() || (!meaning.empty() && here != meaning)) return "";
    meaning = here;
  }
  return meaning;
}

// A number of an array, with the rule that it should follow.
struct Coded {
  std::string what;  // "rank 1: the gradient of ..."
  std::string rule;
  bool is_sum = true;  // over the ranks
};

void compare_codes(Check& check, int ranks, const Coded& coded, const Values& got, const Values& expected) {
  check.expect(got.size() == expected.size(),
               concat(coded.what, " has ", got.size(), " elements, and not ", expected.size()),
               got.empty() ? "record() connects the result with the input" : "");
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    const std::string meaning = coded.is_sum ? meaning_of(ranks, got, expected) : "";
    check.wrong(concat(coded.what, ", element ", i, ": expected ", shown(expected[i]), ", got ", shown(got[i]),
                       meaning.empty() ? "" : concat(" (as a sum: ", meaning, ")"), ": ", coded.rule));
  }
}

// Values and gradients that others hold too.
void check_shared(Check& check, int ranks, std::int64_t count) {
  Values same(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<float>(i % 5 + 1);
  const Outcome& outcome = check.run({.world_size = ranks, .question = [&](int rank) {
                                        const Values code = code_of(rank, count);
                                        return nlohmann::json{{"kind", "shared"},
                                                              {"count", count},
                                                              {"copied", array(same)},
                                                              {"neighbour", array(same)},
                                                              {"term", array(code)},
                                                              {"left_gradient", array(code)},
                                                              {"right_gradient", array(same)}};
                                      }});
  require_awaited(check, outcome, ranks);
  const Values sum = sum_of_codes(ranks, count);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string place = concat("rank ", rank, ": ");
    const auto compare = [&](const std::string& name, const Values& expected, const std::string& what,
                             const std::string& rule, bool is_sum) {
      compare_codes(check, ranks, {place + what, rule, is_sum}, check.numbers<float>(outcome, rank, name), expected);
    };
    compare("d_copied", sum, "the gradient of copy_to_ranks()'s input", "it is the sum of all ranks' gradients", true);
    compare("d_neighbour", code_of(rank, count), "the gradient of the other term of a sum",
            "copy_to_ranks() has overwritten a gradient that somebody else holds too: all-reduce a clone", false);
    compare("sum", sum, "the result of sum_over_ranks()", "it is the sum of all ranks' terms", true);
    compare("after", code_of(rank, count), "the value of `partial` after sum_over_ranks()",
            "sum_over_ranks() has overwritten its input: all-reduce a clone", false);
    compare("d_term", same, "the gradient of sum_over_ranks()'s input", "it is the gradient of the sum, as it is",
            false);
    check_collectives(check, outcome, rank, Numbers(2, count),
                      "one in backward of the first, one in forward of the second");
  }
}

struct Norms {
  int ranks;
  Numbers counts;
  std::int64_t frozen = -1;
};

// Gradients of which each rank has one term.
void check_partial(Check& check, const Norms& norms, TrialOptions options = {}) {
  options.world_size = norms.ranks;
  options.question = [&](int rank) {
    nlohmann::json question = {
        {"kind", "partial"}, {"counts", to_message(std::span(norms.counts))}, {"frozen", norms.frozen}};
    for (std::size_t i = 0; i < norms.counts.size(); ++i) {
      question[concat("value", i)] = array(Values(static_cast<std::size_t>(norms.counts[i]), 0.5F));
      question[concat("gradient", i)] = array(code_of(rank, norms.counts[i]));
    }
    return question;
  };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, norms.ranks);
  std::int64_t elements = 0;
  for (int rank = 0; rank < norms.ranks; ++rank) {
    elements = 0;
    for (std::size_t i = 0; i < norms.counts.size(); ++i) {
      const bool is_frozen = static_cast<std::int64_t>(i) == norms.frozen;
      const std::string place = concat("rank ", rank, " of ", norms.ranks, ": norm ", i);
      compare_codes(check, norms.ranks,
                    {concat(place, ", value"), "the gradients are summed, the values stay as they are", false},
                    check.numbers<float>(outcome, rank, concat("value", i)),
                    Values(static_cast<std::size_t>(norms.counts[i]), 0.5F));
      compare_codes(
          check, norms.ranks,
          {concat(place, ", gradient"), "each rank has one term, from its own rows, and the gradient is their sum"},
          check.numbers<float>(outcome, rank, concat("gradient", i)),
          is_frozen ? Values() : sum_of_codes(norms.ranks, norms.counts[i]));
      if (!is_frozen) elements += norms.counts[i];
    }
  }
  for (int rank = 0; rank < norms.ranks; ++rank)
    check_collectives(check, outcome, rank, {elements}, "put all gradients side by side, and all-reduce them together");
}

}  // namespace checks_10_2

void judge_10_2(Examination& exam) {
  using namespace checks_10_2;
  exam.check("2 ranks, one MLP", [](Check& check) { check_blocks(check, {.blocks = 1}); });
  exam.check("2 ranks, two MLPs", [](Check& check) { check_blocks(check, {}); });
  exam.check("3 ranks, two MLPs",
             [](Check& check) { check_blocks(check, {.ranks = 3, .rows = 5, .channels = 3, .hidden = 2}); });
  exam.check("one rank", [](Check& check) { check_blocks(check, {.ranks = 1}); });
  exam.check("tensors that others hold too", [](Check& check) {
    check_shared(check, 2, 6);
    check_shared(check, 4, 17);
  });
  exam.check("the terms are not kept until backward", [](Check& check) { check_memory(check, {.rows = 8}); });
  exam.check("gradients of norms", [](Check& check) {
    check_partial(check, {.ranks = 2, .counts = {4, 4, 4}});
    check_partial(check, {.ranks = 4, .counts = {3, 7, 1, 12}});
  });
  exam.check("a norm that is frozen", [](Check& check) {
    check_partial(check, {.ranks = 3, .counts = {5, 5, 6, 6}, .frozen = 1});
  });
  exam.full_check("4 ranks, the third one late", [](Check& check) {
    check_blocks(check, {.ranks = 4, .rows = 3, .channels = 4, .hidden = 2}, {.delayed_rank = 2});
  });
  exam.full_check("3 ranks, many rows, small buffers", [](Check& check) {
    check_blocks(check, {.ranks = 3, .rows = 2000, .channels = 4, .hidden = 2, .blocks = 1},
                 {.has_small_buffers = true});
    check_partial(check, {.ranks = 3, .counts = {20'000, 3, 20'000}}, {.has_small_buffers = true});
  });
}

}  // namespace lockstep::exercise
