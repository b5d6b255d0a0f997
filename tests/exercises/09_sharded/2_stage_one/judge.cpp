#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "../../explanation.hpp"
#include "../../require_awaited.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"
#include "toy_reference.hpp"

namespace lockstep::exercise {
namespace checks_09_2 {

using Numbers = std::vector<std::int64_t>;

std::vector<std::string> collectives_of(Check& check, const Outcome& outcome, int rank) {
  std::vector<std::string> all;
  std::istringstream text(check.get<std::string>(outcome, rank, "collectives"));
  for (std::string operation, count; text >> operation >> count;)
    all.push_back(concat(operation, " of ", count.substr(0, count.size() - 1)));
  return all;
}

std::string list_of(std::span<const std::string> texts) {
  std::string all;
  for (const std::string& text : texts) all += concat(all.empty() ? "" : ", ", text);
  return all.empty() ? "nothing" : all;
}

// Each bucket leaves in its launch(), which waits for nothing.
void check_launches(Check& check, const ToyTraining& training, const Outcome& outcome, int rank) {
  const Numbers issued = check.numbers<std::int64_t>(outcome, rank, "issued"),
                waited = check.numbers<std::int64_t>(outcome, rank, "waited");
  const std::size_t buckets = training.counts.size();
  std::int64_t issued_before = 0, waited_before = 0;  // at the end of the step before
  for (std::size_t call = 0; call < issued.size(); ++call) {
    const std::size_t step = call / (buckets + 1), bucket = call % (buckets + 1);
    if (bucket == buckets) {
      issued_before = issued[call];
      waited_before = waited[call];
      continue;
    }
    const std::string place = concat("step ", step + 1, ", rank ", rank, ", launch(", bucket, ")");
    check.expect(issued[call] == issued_before + static_cast<std::int64_t>(bucket) + 1,
                 concat(place, ": ", issued[call] - issued_before,
                        " collectives had been issued in this step; one for ", "each bucket launched so far is right"),
                 "a bucket leaves in launch(), with one reduce_scatter");
    check.expect(waited[call] == waited_before, concat(place, " has waited for a collective, so nothing overlaps"),
                 "launch() only issues; wait() waits");
  }
}

// A step issues a reduce-scatter and an all-gather for each bucket, and one number.
void check_collectives(Check& check, const ToyTraining& training, const Outcome& outcome, int rank) {
  const std::vector<std::string> all = collectives_of(check, outcome, rank);
  std::vector<std::string> halves;
  for (const std::int64_t count : training.counts)
    halves.insert(halves.end(), {concat("reduce_scatter of ", count), concat("all_gather of ", count)});
  std::ranges::sort(halves);
  const std::size_t each = all.size() / static_cast<std::size_t>(training.steps);
  for (std::size_t step = 0; step < static_cast<std::size_t>(training.steps); ++step) {
    std::vector<std::string> of_step(all.begin() + static_cast<std::ptrdiff_t>(step * each),
                                     all.begin() + static_cast<std::ptrdiff_t>((step + 1) * each));
    const std::string shown = list_of(of_step);
    const auto numbers = std::erase_if(of_step, [](const std::string& text) { return text.ends_with(" of 1"); });
    std::ranges::sort(of_step);
    const std::string place = concat("step ", step + 1, ", rank ", rank, " issued ", shown);
    if (std::ranges::any_of(of_step, [](const std::string& text) { return text.starts_with("all_reduce"); }))
      check.wrong(concat(place,
                         ": an all-reduce of a bucket sends twice what a reduce-scatter sends, and of its result "
                         "this rank needs only its part"),
                  "stage 1 splits the all-reduce: reduce_scatter() of gradients, all_gather() of values");
    check.expect(of_step == halves && numbers == 1,
                 concat(place, "; a step should issue ", list_of(halves), " and one all_reduce of 1"),
                 of_step == halves ? "the norm costs an all-reduce of one number"
                                   : "one reduce_scatter and one all_gather for each bucket");
  }
}

struct Seen {
  ToyResult result;

  Seen(Check& check, const Outcome& outcome, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      result.losses.push_back(check.numbers<double>(outcome, rank, "losses"));
      result.norms.push_back(check.numbers<double>(outcome, rank, "norms"));
      result.values.push_back(check.numbers<float>(outcome, rank, "values"));
    }
  }
};

std::string precise(double value) {
  std::ostringstream text;
  text << std::setprecision(15) << value;
  return text.str();
}

bool is_same_norm(double got, double expected) { return std::abs(got - expected) <= 1e-12 * expected; }

bool is_same(const ToyResult& got, const ToyResult& expected) {
  for (std::size_t r = 0; r < got.norms.size(); ++r)
    if (!std::ranges::equal(got.norms[r], expected.norms[r], is_same_norm)) return false;
  return got.values == expected.values;
}

// The mistakes that explain everything that was seen.
std::string explained(const ToyTraining& training, const ToyResult& got) {
  std::vector<std::string> causes;
  for (const WrongStep& wrong : kWrongSteps)
    if (is_same(got, ToyReference(training, wrong).result())) causes.emplace_back(wrong.what);
  return explanation_of(causes);
}

// Norms and values of all steps are those of plain data parallelism.
void check_results(Check& check, const ToyTraining& training, const ToyResult& got) {
  const ToyReference reference(training, {});
  const ToyResult& expected = reference.result();
  const auto elements = expected.values[0].size() / static_cast<std::size_t>(training.steps);
  for (std::size_t step = 0; step < static_cast<std::size_t>(training.steps); ++step) {
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(training.ranks); ++rank) {
      const std::string place = concat("step ", step + 1, ", rank ", rank);
      const double norm = got.norms[rank].at(step), right = expected.norms[rank][step];
      if (!is_same_norm(norm, right))
        check.wrong(concat(place, ": the norm of the mean gradients is ", precise(right), "; finish() returned ",
                           precise(norm), explained(training, got)),
                    std::abs(norm - right) < 1e-5 * right
                        ? "only the last digits differ: are the squares added up in double?"
                        : "each rank adds up the squares of its own part; the sum over all ranks is the norm's square");
      check.expect(got.values[rank].size() == expected.values[rank].size(), "the program's answer makes no sense");
      for (std::size_t i = step * elements; i < (step + 1) * elements; ++i) {
        if (got.values[rank][i] == expected.values[rank][i]) continue;
        check.wrong(concat(place, ": after the step value ", i % elements, " of the model is ",
                           shown(expected.values[rank][i]), " with plain data parallelism; here it is ",
                           shown(got.values[rank][i]), explained(training, got)));
      }
    }
  }
  for (std::size_t rank = 0; rank < got.losses.size(); ++rank)
    check.expect(got.losses[rank] == expected.losses[rank], concat("rank ", rank, ": the losses differ"));
}

void check_updates(Check& check, const ToyTraining& training, const Outcome& outcome, int rank) {
  const Numbers updates = check.numbers<std::int64_t>(outcome, rank, "updates");
  check.expect(updates.size() == training.counts.size() * static_cast<std::size_t>(training.steps),
               concat("rank ", rank, " has called update() ", updates.size(), " times in ", training.steps,
                      " steps with ", training.counts.size(), " buckets"),
               "once a step for each bucket");
}

void check_training(Check& check, const ToyTraining& training, TrialOptions options = {}) {
  options.world_size = training.ranks;
  options.question = [&](int) {
    return nlohmann::json{
        {"counts", to_message(std::span(training.counts))}, {"steps", training.steps}, {"max_norm", training.max_norm}};
  };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, training.ranks);
  check_results(check, training, Seen(check, outcome, training.ranks).result);
  for (int rank = 0; rank < training.ranks; ++rank) {
    if (training.ranks > 1) {  // one rank has nobody to send to, and may leave the collectives out
      check_launches(check, training, outcome, rank);
      check_collectives(check, training, outcome, rank);
    }
    check_updates(check, training, outcome, rank);
  }
}

}  // namespace checks_09_2

void judge_09_2(Examination& exam) {
  using namespace checks_09_2;
  exam.check("2 ranks, one bucket, one step",
             [](Check& check) { check_training(check, {.counts = {16}, .ranks = 2, .steps = 1}); });
  exam.check("2 ranks, three buckets, three steps", [](Check& check) {
    check_training(check, {.counts = {16, 64, 32}, .ranks = 2, .steps = 3});
  });
  exam.check("4 ranks, clipped by the norm of the whole model", [](Check& check) {
    check_training(check, {.counts = {32, 64, 128}, .ranks = 4, .steps = 3, .max_norm = 1.5});
  });
  exam.check("3 ranks, clipped in the first steps only", [](Check& check) {
    check_training(check, {.counts = {48, 96}, .ranks = 3, .steps = 4, .max_norm = 9});
  });
  exam.check("one rank owns everything",
             [](Check& check) { check_training(check, {.counts = {16}, .ranks = 1, .steps = 2}); });
  exam.full_check("4 ranks, the third one late", [](Check& check) {
    check_training(check, {.counts = {64, 64, 64, 64}, .ranks = 4, .steps = 3, .max_norm = 2}, {.delayed_rank = 2});
  });
  exam.full_check("3 ranks, large buckets, small buffers of the kernel", [](Check& check) {
    check_training(check, {.counts = {30'000, 3'000}, .ranks = 3, .steps = 2, .max_norm = 5},
                   {.has_small_buffers = true});
  });
}

}  // namespace lockstep::exercise
