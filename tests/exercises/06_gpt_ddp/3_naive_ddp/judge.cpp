#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "../../require_awaited.hpp"
#include "../shares.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_06_3 {

constexpr float kStale = -5;  // in a gradient that its rank has not written

// Which ranks have a gradient for which parameter, and how many elements it has.
struct Model {
  std::vector<std::int64_t> counts;
  std::vector<std::vector<int>> users;  // by parameter: ranks
  int world_size = 1;
  float stale = kStale;

  [[nodiscard]] bool is_user(std::size_t parameter, int rank) const {
    return std::ranges::find(users[parameter], rank) != users[parameter].end();
  }
  [[nodiscard]] std::int64_t total() const { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }
};

Model all_used(int world_size, std::vector<std::int64_t> counts) {
  std::vector<std::vector<int>> users(counts.size(), all_ranks(world_size));
  return {std::move(counts), std::move(users), world_size};
}

// The input of rank `rank`: `element(parameter, i)` if it has a gradient, else numbers of an earlier step.
template <typename Element>
nlohmann::json question_of(const Model& model, int rank, const Element& element) {
  std::vector<float> values;
  std::vector<std::int64_t> has_gradient;
  for (std::size_t p = 0; p < model.counts.size(); ++p) {
    has_gradient.push_back(model.is_user(p, rank) ? 1 : 0);
    for (std::int64_t i = 0; i < model.counts[p]; ++i)
      values.push_back(model.is_user(p, rank) ? element(p, i) : model.stale);
  }
  return {{"values", to_message(std::span<const float>(values))},
          {"counts", to_message(std::span<const std::int64_t>(model.counts))},
          {"has_gradient", to_message(std::span<const std::int64_t>(has_gradient))}};
}

void check_flags(Check& check, const Outcome& outcome, const Model& model, int rank) {
  const auto flags = check.numbers<std::int64_t>(outcome, rank, "has_gradient");
  check.expect(flags.size() == model.counts.size(), "the number of parameters changed");
  for (std::size_t p = 0; p < flags.size(); ++p) {
    const bool has_users = !model.users[p].empty();
    if ((flags[p] != 0) == has_users) continue;
    check.wrong(has_users ? concat("rank ", rank, ": has_gradient of parameter ", p, " is false, but rank ",
                                   model.users[p].front(), " had a gradient for it")
                          : concat("rank ", rank, ": has_gradient of parameter ", p,
                                   " is true, but no rank had a gradient for it"),
                "a rank knows only its own flags: what do the others' add up to?");
  }
}

std::string explain(double got, double expected, const Model& model, std::size_t parameter) {
  if (std::isnan(got) && std::isinf(model.stale))
    return "0 times infinity is NaN: the old numbers of a rank without a gradient are not read, whatever they are";
  if (got == 0)
    return "no rank's number is in it: is it read from its own place in the vector, or multiplied by a quotient of two "
           "integers, which is 0?";
  const auto users = static_cast<double>(model.users[parameter].size());
  if (users < model.world_size && got * users == expected * model.world_size)
    return concat("that is the sum divided by the number of ranks that have a gradient (", users,
                  "); ranks without one count too");
  bool has_old_numbers = std::isinf(got);
  for (int others = 1; std::isfinite(model.stale) && others <= model.world_size - static_cast<int>(users); ++others)
    has_old_numbers =
        has_old_numbers || Tolerance{.relative = 1e-5}.accepts(
                               got, expected + static_cast<double>(model.stale) * others / model.world_size);
  if (has_old_numbers) return "it contains old numbers of a rank without a gradient, which counts as zeros";
  return explain_mean(got, expected, model.world_size);
}

// @param before  What the rank has passed in as this parameter's gradient.
ArrayKnowledge knowledge_of(const Model& model, std::size_t parameter, std::span<const float> before) {
  const double ranks = model.world_size;
  const auto users = static_cast<double>(model.users[parameter].size());
  ArrayKnowledge knowledge{.before = before};
  knowledge.factors = {
      {ranks, "that is the sum; it is not divided by the number of ranks"},
      {1 / ranks, "it is divided by the number of ranks twice"},
      {ranks / static_cast<double>(model.counts.size()), "it is divided by the number of parameters, not of ranks"}};
  if (users == ranks) knowledge.factors.push_back({ranks / (ranks - 1), "it is divided by one rank too few"});
  return knowledge;
}

void check_means(Check& check, const Model& model, TrialOptions options = {}) {
  options.world_size = model.world_size;
  options.question = [&](int rank) {
    return question_of(model, rank, [&](std::size_t, std::int64_t) { return share_in_mean(rank, model.world_size); });
  };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, model.world_size);
  for (int rank = 0; rank < model.world_size; ++rank) {
    const std::vector<float> values = check.numbers<float>(outcome, rank, "values");
    check.expect(static_cast<std::int64_t>(values.size()) == model.total(), "a gradient changed its length");
    std::size_t begin = 0;
    for (std::size_t p = 0; p < model.counts.size(); ++p) {
      const auto count = static_cast<std::size_t>(model.counts[p]);
      const bool is_unused = model.users[p].empty();
      const double expected = is_unused ? model.stale : mean_of_shares(model.users[p]);
      const std::vector<float> before(count,
                                      model.is_user(p, rank) ? share_in_mean(rank, model.world_size) : model.stale);
      check.compare(
          concat("rank ", rank, ", gradient of parameter ", p, is_unused ? " (used on no rank)" : ""),
          std::span(values).subspan(begin, count), std::vector<double>(count, expected),
          {.explain =
               [&](std::size_t, double got, double) {
                 return is_unused ? std::string("it should be left as it was") : explain(got, expected, model, p);
               },
           .knowledge =
               is_unused || std::isinf(model.stale) ? std::nullopt : std::optional(knowledge_of(model, p, before))});
      begin += count;
    }
    check_flags(check, outcome, model, rank);
  }
}

// Elements that differ: the means above do not notice elements that have changed places.
void check_places(Check& check, const Model& model) {
  const auto count = static_cast<std::size_t>(model.total());
  std::vector<std::vector<float>> inputs;
  std::vector<double> means(count);
  for (int rank = 0; rank < model.world_size; ++rank) {
    inputs.push_back(random_floats(check.seed(), static_cast<std::uint64_t>(rank), count));
    for (std::size_t i = 0; i < count; ++i) means[i] += static_cast<double>(inputs.back()[i]) / model.world_size;
  }
  const Outcome& outcome =
      check.run({.world_size = model.world_size, .question = [&](int rank) {
                   auto next = inputs[static_cast<std::size_t>(rank)].begin();
                   return question_of(model, rank, [&](std::size_t, std::int64_t) { return *next++; });
                 }});
  // Each of at most 8 additions and the division round by at most half an ulp of 8.
  for (int rank = 0; rank < model.world_size; ++rank)
    check.compare(concat("rank ", rank, ", all gradients one after another"),
                  check.numbers<float>(outcome, rank, "values"), means, {.absolute = 5e-6});
}

// Gradients of zeros, and of opposite signs, are gradients.
void check_zero_means(Check& check) {
  const Model model = all_used(2, {3, 2, 1});
  const auto element_on = [](int rank, std::size_t parameter) {
    if (parameter == 0) return 0.0F;
    return parameter == 1 && rank == 1 ? -4.0F : 4.0F;
  };
  const Outcome& outcome =
      check.run({.world_size = model.world_size, .question = [&](int rank) {
                   return question_of(model, rank, [&](std::size_t p, std::int64_t) { return element_on(rank, p); });
                 }});
  for (int rank = 0; rank < model.world_size; ++rank) {
    check_flags(check, outcome, model, rank);
    check.compare(concat("rank ", rank, ", all gradients one after another"),
                  check.numbers<float>(outcome, rank, "values"), std::vector<double>{0, 0, 0, 0, 0, 4}, {});
  }
}

void check_one_all_reduce(Check& check, const Model& model) {
  check_means(check, model);
  for (int rank = 0; rank < model.world_size; ++rank) {
    const auto counts = check.numbers<std::int64_t>(check.outcomes().back(), rank, "all_reduces");
    check.expect(counts.size() == 1,
                 concat("rank ", rank, " issued ", counts.size(), " all-reduces for ", model.counts.size(),
                        " parameters; one is enough"),
                 "append all gradients, and the flags, to one vector");
    const std::int64_t most = model.total() + static_cast<std::int64_t>(model.counts.size());
    check.expect(counts.front() <= most, concat("rank ", rank, " sent ", counts.front(), " values; the gradients have ",
                                                model.total(), ", and one more per parameter makes ", most));
  }
}

}  // namespace checks_06_3

void judge_06_3(Examination& exam) {
  using namespace checks_06_3;
  exam.check("one rank: the gradients stay as they are", [](Check& check) { check_means(check, all_used(1, {4, 2})); });
  exam.check("3 ranks, four parameters", [](Check& check) { check_means(check, all_used(3, {4, 1, 6, 2})); });
  exam.check("2 ranks, one parameter", [](Check& check) { check_means(check, all_used(2, {3})); });
  exam.check("every element in its place", [](Check& check) { check_places(check, all_used(2, {5, 300, 1, 40})); });
  exam.check("parameter 1 has a gradient on ranks 0 and 1 only", [](Check& check) {
    check_means(check, {{2, 3, 2}, {{0, 1, 2}, {0, 1}, {0, 1, 2}}, 3});
  });
  exam.check("parameter 1 has a gradient on rank 0 only", [](Check& check) {
    check_means(check, {{2, 3, 2}, {{0, 1, 2}, {0}, {0, 1, 2}}, 3});
  });
  exam.check("rank 1 has no gradient at all", [](Check& check) { check_means(check, {{2, 3}, {{0, 2}, {0, 2}}, 3}); });
  exam.check("rank 0 is the one without a gradient", [](Check& check) {
    check_means(check, {{2, 1}, {{1, 2, 3}, {0, 1, 2, 3}}, 4});
  });
  exam.check("parameters that no rank uses", [](Check& check) {
    check_means(check, {{2, 3, 1}, {{}, {0, 1}, {}}, 2});
  });
  exam.check("gradients whose mean is 0", check_zero_means);
  exam.check("rank 1's old numbers are infinite", [](Check& check) {
    check_means(check, {{2, 3}, {{0, 1}, {0}}, 2, std::numeric_limits<float>::infinity()});
  });
  exam.check("one all-reduce for all of it", [](Check& check) {
    check_one_all_reduce(check, {{10, 3, 20, 1}, {{0, 1}, {1}, {0, 1}, {0}}, 2});
  });
  exam.full_check("8 ranks, 30 parameters, the fourth rank late", [](Check& check) {
    Model model{{}, {}, 8};
    for (int p = 0; p < 30; ++p) {
      model.counts.push_back(1 + p * p);
      model.users.emplace_back();
      for (int rank = 0; rank < 8; ++rank)
        if ((p * 7 + rank * 3) % 5 != 0 && p % 11 != 3) model.users.back().push_back(rank);
    }
    check_means(check, model, {.delayed_rank = 3});
    check_one_all_reduce(check, model);
  });
  exam.full_check("300 000 values through small buffers", [](Check& check) {
    check_means(check, all_used(3, {1, 299'990, 9}), {.has_small_buffers = true});
  });
}

}  // namespace lockstep::exercise
