#include <algorithm>
#include <limits>
#include <utility>

#include "../counted.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_08_2 {

using Numbers = std::vector<std::int64_t>;

// The fate of the last batch if the ranks do not get equally many samples.
enum class Remainder { kRepeat, kUneven };
// Predictions that say whose they are; classes as a model predicts them, of which many are equal; or integers that
// people take for filling.
enum class Predictions { kDecodable, kClasses, kAnyIntegers };

struct Scenario {
  int world_size = 1;
  std::int64_t sample_count = 1, batch_size = 1;
  Remainder remainder = Remainder::kRepeat;
  Predictions predictions = Predictions::kDecodable;

  [[nodiscard]] std::int64_t whole_batch() const { return world_size * batch_size; }
  [[nodiscard]] std::int64_t batches() const { return (sample_count + whole_batch() - 1) / whole_batch(); }
  // Positions that are dealt, those of repeated samples included.
  [[nodiscard]] std::int64_t dealt() const {
    return remainder == Remainder::kUneven ? sample_count : (sample_count + world_size - 1) / world_size * world_size;
  }
};

// The decodable prediction of sample 0.
std::int64_t first_prediction(std::uint64_t seed) { return 100 + static_cast<std::int64_t>(seed % 800); }

std::int64_t prediction_of(Predictions predictions, std::int64_t sample, std::uint64_t seed) {
  constexpr std::int64_t kAny[] = {-1, 0, std::numeric_limits<std::int64_t>::min(), -100,
                                   std::numeric_limits<std::int64_t>::max()};
  constexpr std::int64_t kClassOf[] = {0, 3, 3, 1, 0};  // equal ones are neighbours, and far apart
  if (predictions == Predictions::kDecodable) return first_prediction(seed) + sample;
  return predictions == Predictions::kClasses ? kClassOf[sample % 5] : kAny[sample % 5];
}

// The prediction at each dealt position. A repeated sample has the same one as at the front of the order.
Numbers predictions_of(const Scenario& scenario, std::uint64_t seed) {
  Numbers values;
  for (std::int64_t p = 0; p < scenario.dealt(); ++p) {
    const std::int64_t sample = p % scenario.sample_count;
    values.push_back(prediction_of(scenario.predictions, sample, seed));
  }
  return values;
}

// Rank r's rows, batch after batch, and how many each batch has.
struct Share {
  Numbers own, rows;
};

Share share_of(const Scenario& scenario, int rank, const Numbers& values) {
  Share share;
  for (std::int64_t k = 0; k < scenario.batches(); ++k) {
    const std::int64_t begin = k * scenario.whole_batch(),
                       end = std::min(begin + scenario.whole_batch(), scenario.dealt());
    const std::size_t before = share.own.size();
    for (std::int64_t p = begin + rank; p < end; p += scenario.world_size)
      share.own.push_back(values[static_cast<std::size_t>(p)]);
    share.rows.push_back(static_cast<std::int64_t>(share.own.size() - before));
  }
  return share;
}

// Whose prediction a wrong element of batch k is.
std::string explain(const Scenario& scenario, std::int64_t k, std::int64_t value, std::uint64_t seed) {
  if (scenario.predictions != Predictions::kDecodable) return "";
  const std::int64_t sample = value - first_prediction(seed);
  if (sample < 0 || sample >= scenario.sample_count) return "; no sample has this one: is it a row of filling?";
  if (sample / scenario.whole_batch() != k) return concat("; that is sample ", sample, "'s, which is repeated here");
  return concat("; that is sample ", sample, "'s, from row ", sample % scenario.whole_batch() / scenario.world_size,
                " of rank ", sample % scenario.world_size);
}

// Why there are more predictions of batch k on a rank, or fewer.
std::string explain_count(const Scenario& scenario, std::int64_t k, int rank, std::int64_t got) {
  const std::int64_t begin = k * scenario.whole_batch();
  const std::int64_t dealt = std::min(scenario.whole_batch(), scenario.dealt() - begin);
  const std::int64_t wanted = std::min(scenario.whole_batch(), scenario.sample_count - begin);
  // If other ranks' first batch was right, it is this rank that returns nothing.
  if (got == 0 && (rank == 0 || k > 0) && k + 1 == scenario.batches() &&
      scenario.sample_count % scenario.whole_batch() == 0)
    return ": a remainder of 0 means that the last batch is full";
  if (got == scenario.whole_batch() && got != dealt) return ": all rows are kept, also those of filling";
  if (got == dealt && got != wanted) return ": all rows are kept, also repeated samples";
  if (got == wanted + 1) return ": one too many; does position sample_count count as a sample?";
  if (got == wanted - 1) return ": one too few; does position sample_count - 1 count?";
  return "";
}

// Lists that people return in place of the right one. @param got  Of this rank, for batch k.
std::string explain_list(const Scenario& scenario, std::int64_t k, int rank, const Numbers& values,
                         const Numbers& got) {
  const std::int64_t begin = k * scenario.whole_batch(), ranks = scenario.world_size;
  const std::int64_t end = std::min(begin + scenario.whole_batch(), scenario.dealt());
  const std::int64_t real = std::min(begin + scenario.whole_batch(), scenario.sample_count);
  Numbers own, by_rank, real_by_rank;
  for (std::int64_t r = 0; r < ranks; ++r)
    for (std::int64_t p = begin + r; p < end; p += ranks) {
      const std::int64_t value = values[static_cast<std::size_t>(p)];
      if (r == rank) own.push_back(value);
      by_rank.push_back(value);
      if (p < real) real_by_rank.push_back(value);
    }
  Numbers cut = by_rank, sorted = real_by_rank;
  cut.resize(static_cast<std::size_t>(real - begin));
  std::ranges::sort(sorted);
  const std::pair<Numbers, const char*> wrong[] = {
      {own, "a rank returns its own rows"},
      {by_rank, "all rows are kept, in the order of the ranks"},
      {cut, "the rows are in the order of the ranks, and the list is cut at its end"},
      {real_by_rank, "the rows are in the order of the ranks, not of the positions"},
      {sorted, "the predictions are sorted by value, not by position"},
      {{}, "this rank returns nothing: all ranks return the predictions of all"}};
  std::vector<std::string> causes;
  for (const auto& [list, cause] : wrong)
    if (got == list) causes.emplace_back(cause);
  return causes.empty() ? "" : concat("; ", what_comes_out(causes));
}

void check_rank(Check& check, const Scenario& scenario, const Outcome& outcome, int rank, const Numbers& values) {
  const Numbers gathered = check.numbers<std::int64_t>(outcome, rank, "gathered"),
                counts = check.numbers<std::int64_t>(outcome, rank, "counts");
  const std::string situation = concat(counted(scenario.sample_count, "sample"), ", ",
                                       counted(scenario.world_size, "rank"), ", batch size ", scenario.batch_size,
                                       scenario.dealt() == scenario.sample_count
                                           ? ""
                                           : concat(", ", scenario.dealt() - scenario.sample_count, " repeated"));
  std::size_t at = 0;
  for (std::int64_t k = 0; k < scenario.batches(); ++k) {
    const std::int64_t begin = k * scenario.whole_batch();
    const std::int64_t wanted = std::min(scenario.whole_batch(), scenario.sample_count - begin);
    const std::int64_t got = counts.at(static_cast<std::size_t>(k));
    const auto first = gathered.begin() + static_cast<std::ptrdiff_t>(at);
    const std::string list = explain_list(scenario, k, rank, values, {first, first + got});
    for (std::int64_t i = 0; i < std::min(got, wanted); ++i) {
      const std::int64_t value = gathered.at(at + static_cast<std::size_t>(i));
      const std::int64_t right = values[static_cast<std::size_t>(begin + i)];
      if (value != right)
        check.wrong(concat(situation, ": on rank ", rank, ", element ", i, " of batch ", k, " is ", value,
                           "; expected ", right, ", the prediction for sample ", begin + i,
                           list.empty() ? explain(scenario, k, value, check.seed()) : list));
    }
    const std::string count = explain_count(scenario, k, rank, got);
    if (got != wanted)
      check.wrong(concat(situation, ": on rank ", rank, ", batch ", k, ": ", counted(got, "prediction"), "; expected ",
                         wanted, count.empty() && got == 0 ? list : count));
    at += static_cast<std::size_t>(got);
  }
}

// One exchange per batch is enough: how many rows there are follows from the batch.
void check_gathers(Check& check, const Scenario& scenario, const Outcome& outcome, int rank) {
  const auto gathers = check.get<std::int64_t>(outcome, rank, "gathers");
  check.expect(gathers <= scenario.batches(),
               concat("rank ", rank, " has called gather_rows() ", gathers, " times for ", scenario.batches(),
                      scenario.batches() == 1 ? " batch" : " batches", "; once each is enough"),
               "how many rows a rank has follows from sample_count, batch_size and index");
}

void check_evaluation(Check& check, const Scenario& scenario) {
  const Numbers values = predictions_of(scenario, check.seed());
  const Outcome& outcome =
      check.run({.world_size = scenario.world_size, .question = [&](int rank) {
                   const Share share = share_of(scenario, rank, values);
                   return nlohmann::json{{"sample_count", scenario.sample_count},
                                         {"batch_size", scenario.batch_size},
                                         {"own", to_message(std::span<const std::int64_t>(share.own))},
                                         {"rows", to_message(std::span<const std::int64_t>(share.rows))}};
                 }});
  for (int rank = 0; rank < scenario.world_size; ++rank) check_rank(check, scenario, outcome, rank, values);
  for (int rank = 0; rank < scenario.world_size; ++rank) check_gathers(check, scenario, outcome, rank);
}

}  // namespace checks_08_2

void judge_08_2(Examination& exam) {
  using namespace checks_08_2;
  exam.check("one rank", [](Check& check) { check_evaluation(check, {.sample_count = 7, .batch_size = 3}); });
  exam.check("3 ranks, one batch of 7 samples, some with equal predictions", [](Check& check) {
    check_evaluation(check,
                     {.world_size = 3, .sample_count = 7, .batch_size = 3, .predictions = Predictions::kClasses});
  });
  exam.check("3 ranks, 16 samples in batches of 6: two are repeated",
             [](Check& check) { check_evaluation(check, {.world_size = 3, .sample_count = 16, .batch_size = 2}); });
  exam.check("3 ranks, 12 samples: nothing is repeated",
             [](Check& check) { check_evaluation(check, {.world_size = 3, .sample_count = 12, .batch_size = 2}); });
  exam.check("4 ranks, 25 samples: a last batch of one sample",
             [](Check& check) { check_evaluation(check, {.world_size = 4, .sample_count = 25, .batch_size = 3}); });
  exam.check("nothing is repeated, and high ranks have fewer rows", [](Check& check) {
    check_evaluation(check, {.world_size = 3, .sample_count = 16, .batch_size = 2, .remainder = Remainder::kUneven});
  });
  exam.check("predictions may be any integers, such as -1 and 0", [](Check& check) {
    for (const Remainder remainder : {Remainder::kRepeat, Remainder::kUneven})
      check_evaluation(check, {.world_size = 3,
                               .sample_count = 16,
                               .batch_size = 2,
                               .remainder = remainder,
                               .predictions = Predictions::kAnyIntegers});
  });
  exam.check("5 ranks, 2 samples: some ranks have no row", [](Check& check) {
    check_evaluation(check, {.world_size = 5, .sample_count = 2, .batch_size = 4, .remainder = Remainder::kUneven});
  });
  exam.check("2 ranks, 101 samples",
             [](Check& check) { check_evaluation(check, {.world_size = 2, .sample_count = 101, .batch_size = 12}); });
  exam.full_check("every small number of ranks and samples", [](Check& check) {
    for (const Remainder remainder : {Remainder::kRepeat, Remainder::kUneven})
      for (int ranks = 1; ranks <= 5; ++ranks)
        for (const std::int64_t samples : {1, 2, 5, 8, 11})
          check_evaluation(
              check,
              {.world_size = ranks, .sample_count = samples, .batch_size = 1 + samples % 3, .remainder = remainder});
  });
}

}  // namespace lockstep::exercise
