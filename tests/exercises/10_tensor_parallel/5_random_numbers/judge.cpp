#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "10_tensor_parallel/5_random_numbers/random_numbers.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"
#include "seed_rules.hpp"

namespace lockstep::exercise {
namespace checks_10_5 {

using tensor_parallel::Cut;
using Numbers = std::vector<std::int64_t>;
using Values = std::vector<float>;

// The seeds of all, in their order.
Numbers seeds_of(Check& check, const std::vector<Asked>& all) {
  Numbers numbers;
  for (const auto& [draw, place] : all)
    numbers.insert(numbers.end(), {static_cast<std::int64_t>(draw.seed), static_cast<std::int64_t>(draw.purpose),
                                   draw.layer, draw.step, draw.micro_batch, place.data_rank, place.tensor_rank});
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"what", "seeds"}, {"draws", to_message(std::span<const std::int64_t>(numbers))}};
  }});
  Numbers seeds = check.numbers<std::int64_t>(outcome, 0, "seeds");
  check.expect(seeds.size() == all.size(), "the program's answer makes no sense");
  return seeds;
}

// One draw of a purpose, with the numbers that it uses.
Draw draw_of(Purpose purpose, std::uint64_t seed) {
  Draw draw{.seed = seed, .purpose = purpose, .layer = 2};
  if (purpose != Purpose::kWholeWeights && purpose != Purpose::kCutWeights) draw.step = 5;
  if (purpose == Purpose::kOrder) draw.layer = 0;
  if (rule_of(purpose).differs_by_data_rank) draw.micro_batch = 1;
  return draw;
}

// Two ranks that differ in one coordinate.
void check_pair(Check& check, const Asked& a, const Asked& b, bool is_same) {
  const bool by_data = a.place.data_rank != b.place.data_rank;
  const Rule& rule = rule_of(a.draw.purpose);
  const bool must_differ = by_data ? rule.differs_by_data_rank : rule.differs_by_tensor_rank;
  if (is_same != must_differ) return;
  const std::string ranks = by_data ? concat("data ranks ", a.place.data_rank, " and ", b.place.data_rank)
                                    : concat("tensor ranks ", a.place.tensor_rank, " and ", b.place.tensor_rank);
  check.wrong(concat("for ", rule.name, ", ", ranks, " get ", is_same ? "the same seed" : "different seeds"),
              by_data ? rule.data_reason : rule.tensor_reason);
}

// All pairs of neighbours on a grid, for the given purposes.
void check_grid(Check& check, int data_ranks, int tensor_ranks, const std::vector<Purpose>& purposes) {
  std::vector<Asked> all;
  for (const Purpose purpose : purposes)
    for (int d = 0; d < data_ranks; ++d)
      for (int t = 0; t < tensor_ranks; ++t) all.push_back({draw_of(purpose, check.seed() % 1000), {d, t}});
  const std::size_t once = all.size();
  for (std::size_t i = 0; i < once; ++i) all.push_back(all[i]);  // recomputed
  const Numbers seeds = seeds_of(check, all);
  for (std::size_t i = 0; i < once; ++i)
    check.expect(seeds[i] == seeds[once + i], concat("asked twice, seed_for() gives two seeds for ", text_of(all[i])),
                 "a forward pass that is computed again must drop the same elements");
  for (std::size_t i = 0; i < once; ++i) {
    const auto [d, t] = all[i].place;
    const std::size_t right = i + 1, below = i + static_cast<std::size_t>(tensor_ranks);
    if (t + 1 < tensor_ranks) check_pair(check, all[i], all[right], seeds[i] == seeds[right]);
    if (d + 1 < data_ranks) check_pair(check, all[i], all[below], seeds[i] == seeds[below]);
  }
}

struct Sizes {
  std::int64_t seeds, layers, steps, micro_batches;
  int data_ranks, tensor_ranks;
};

// No two of these draws have the same seed.
void check_all_differ(Check& check, const std::vector<Asked>& all) {
  const Numbers seeds = seeds_of(check, all);
  std::map<std::int64_t, std::size_t> known;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [other, is_new] = known.emplace(seeds[i], i);
    if (!is_new)
      check.wrong(
          concat("two draws have the same seed, although they differ in ", difference_of(all[other->second], all[i]),
                 ": ", text_of(all[other->second]), "; and ", text_of(all[i])),
          "mix in, one after another, all numbers that the draw depends on; sums of them collide");
  }
}

// Draws that differ in anything have different seeds: a rank's coordinates count if its numbers have to differ.
void check_collisions(Check& check, const Sizes& sizes) {
  std::vector<Asked> all;
  const std::int64_t first_seed = static_cast<std::int64_t>(check.seed() % 1000);
  for (const Rule& rule : kRules) {
    const Draw used = draw_of(rule.purpose, 0);
    const std::int64_t layers = used.layer > 0 ? sizes.layers : 1, steps = used.step > 0 ? sizes.steps : 1,
                       micro_batches = used.micro_batch > 0 ? sizes.micro_batches : 1;
    const int data_ranks = rule.differs_by_data_rank ? sizes.data_ranks : 1,
              tensor_ranks = rule.differs_by_tensor_rank ? sizes.tensor_ranks : 1;
    for (std::int64_t seed = first_seed; seed < first_seed + sizes.seeds; ++seed)
      for (std::int64_t layer = 0; layer < layers; ++layer)
        for (std::int64_t step = 0; step < steps; ++step)
          for (std::int64_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch)
            for (int d = 0; d < data_ranks; ++d)
              for (int t = 0; t < tensor_ranks; ++t)
                all.push_back({{static_cast<std::uint64_t>(seed), rule.purpose, layer, step, micro_batch}, {d, t}});
  }
  check_all_differ(check, all);
}

// One number of a draw at a time, with the values that sums of multiples take for another number: a step of 1000, for
// example, is layer 1 if a layer counts 1000.
void check_large_numbers(Check& check) {
  std::vector<std::int64_t> values;
  for (std::int64_t power = 1; power <= 1'000'000; power *= 10) values.push_back(power);
  for (std::int64_t power = 2; power <= 1 << 20; power *= 2) values.push_back(power);
  std::vector<Asked> all;
  for (const Rule& rule : kRules) {
    const Draw used = draw_of(rule.purpose, 0);
    const Asked first{{.seed = check.seed() % 1000, .purpose = rule.purpose}, {}};
    all.push_back(first);
    for (const std::int64_t value : values) {
      const bool is_small = value <= 1024;  // as layers, micro-batches and ranks are
      Asked asked = first;
      asked.draw.seed += static_cast<std::uint64_t>(value);
      all.push_back(asked);
      const auto add = [&](bool is_used, std::int64_t Draw::*number) {
        asked = first;
        asked.draw.*number = value;
        if (is_used) all.push_back(asked);
      };
      add(used.layer > 0 && is_small, &Draw::layer);
      add(used.step > 0, &Draw::step);
      add(used.micro_batch > 0 && is_small, &Draw::micro_batch);
      asked = first;
      asked.place.data_rank = static_cast<int>(value);
      if (rule.differs_by_data_rank && is_small) all.push_back(asked);
      asked = first;
      asked.place.tensor_rank = static_cast<int>(value);
      if (rule.differs_by_tensor_rank && is_small) all.push_back(asked);
    }
  }
  check_all_differ(check, all);
}

// A call of drop_part().
struct Call {
  Cut cut = Cut::kNothing;
  Numbers samples = {};
  std::int64_t positions = 1, width = 1;
  int rank = 0, ranks = 1;
  std::int64_t seed = 2, step = 4, layer = 6;  // even: adding 1 to any of them changes a sum and an XOR alike
};

// Values that differ from one element to the next. Each of them can be divided by 1/2 or 1/4 exactly.
float value_at(std::int64_t element) { return static_cast<float>(element % 7 + 1); }

std::int64_t sample_count(const Call& call) {
  return call.cut == Cut::kHeads ? call.width * call.positions * call.positions : call.positions * call.width;
}

// Where each element of a part is in the whole tensor of the batch.
std::vector<std::size_t> places_of(const Call& call) {
  const std::int64_t per_sample = sample_count(call), all = per_sample * std::ssize(call.samples);
  std::vector<std::size_t> places;
  for (std::int64_t i = 0; i < all; ++i) {
    const std::int64_t head = i % per_sample / (call.positions * call.positions), row = i / call.width;
    const std::int64_t rows = call.positions * std::ssize(call.samples);
    int owner = call.rank;
    if (call.cut == Cut::kHeads) owner = static_cast<int>(head / (call.width / call.ranks));
    if (call.cut == Cut::kRows) owner = static_cast<int>(row / (rows / call.ranks));
    if (owner == call.rank) places.push_back(static_cast<std::size_t>(i));
  }
  return places;
}

// The elements after each call.
std::vector<Values> dropped(Check& check, const std::vector<Call>& calls, double probability) {
  const Outcome& outcome = check.run({.question = [&](int) {
    nlohmann::json question{{"what", "drop"}, {"calls", static_cast<int>(calls.size())}, {"probability", probability}};
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Call& call = calls[i];
      Values values;
      for (const std::size_t place : places_of(call)) values.push_back(value_at(static_cast<std::int64_t>(place)));
      const Numbers numbers{static_cast<int>(call.cut),
                            call.positions,
                            call.width,
                            call.rank,
                            call.ranks,
                            call.seed,
                            call.step,
                            call.layer};
      question[concat("numbers", i)] = to_message(std::span<const std::int64_t>(numbers));
      question[concat("samples", i)] = to_message(std::span<const std::int64_t>(call.samples));
      question[concat("elements", i)] = to_message(std::span<const float>(values));
    }
    return question;
  }});
  std::vector<Values> results;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    results.push_back(check.numbers<float>(outcome, 0, concat("elements", i)));
    check.expect(results.back().size() == places_of(calls[i]).size(), "the program's answer makes no sense");
  }
  return results;
}

// Each element is 0, or divided by (1 - probability).
void check_values(Check& check, const Call& call, const Values& values, float probability) {
  const std::vector<std::size_t> places = places_of(call);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float before = value_at(static_cast<std::int64_t>(places[i])), kept = before / (1 - probability);
    if (values[i] == 0 || values[i] == kept) continue;
    check.wrong(concat("with a probability of ", shown(probability), " an element of ", shown(before), " becomes 0 or ",
                       shown(kept), "; here it is ", shown(values[i])),
                "what is left must be as large on average as before: divide it by (1 - probability)");
  }
}

// The share of elements that are kept in both or dropped in both.
double agreement(const Values& a, const Values& b) {
  double same = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) same += (a[i] == 0) == (b[i] == 0) ? 1 : 0;
  return same / static_cast<double>(std::min(a.size(), b.size()));
}

// With a probability of 1/2 two independent masks of 2048 elements agree in half of them, up to 1.1 %; this allows six
// times that.
constexpr double kAllowed = 0.07;

void check_independent(Check& check, double agreement, const std::string& what, const std::string& next) {
  if (std::abs(agreement - 0.5) <= kAllowed) return;
  check.wrong(concat(what, " agree in ", std::lround(100 * agreement),
                     " % of the elements; with a probability of 1/2, ", "independent masks agree in half of them"),
              next);
}

// Elements `distance` apart in one mask.
void check_distance(Check& check, const Values& values, std::int64_t distance, const std::string& what) {
  const Values later(values.begin() + distance, values.end());
  check_independent(check, agreement(values, later), concat("the masks of two ", what),
                    "the element's place in the whole tensor of its sample decides, and the sample's number");
}

// The share of elements that are dropped.
void check_share(Check& check, const Values& values, double probability) {
  const double share = static_cast<double>(std::ranges::count(values, 0.0F)) / static_cast<double>(values.size());
  check.expect(std::abs(share - probability) <= kAllowed,
               concat("with a probability of ", shown(probability), ", ", std::lround(100 * share),
                      " % of the elements are dropped"),
               "the probability is that of dropping an element");
}

// Each sample's elements from the second on, and its first one at the end.
Values from_second(Values values, std::int64_t per_sample) {
  for (auto begin = values.begin(); begin != values.end(); begin += per_sample)
    std::rotate(begin, begin + 1, begin + per_sample);
  return values;
}

// The tensor on one rank: how much is dropped, and on what it depends.
void check_whole(Check& check, const Call& call) {
  std::vector<Call> calls(8, call);
  calls[2].step += 1;
  calls[3].layer += 1;
  calls[4].seed += 1;
  for (std::int64_t& sample : calls[5].samples) sample += 1000;
  std::ranges::reverse(calls[6].samples);
  for (std::int64_t& sample : calls[7].samples) sample += 1;
  const std::vector<Values> results = dropped(check, calls, 0.5);
  for (std::size_t i = 0; i < calls.size(); ++i) check_values(check, calls[i], results[i], 0.5F);
  check.expect(results[0] == results[1], "the same call drops different elements the second time",
               "nothing may depend on calls before: backward and recomputation call it again");
  check_share(check, results[0], 0.5);
  constexpr std::array<const char*, 4> kOthers = {"two steps", "two layers", "two seeds", "other samples"};
  constexpr std::array<const char*, 3> kNext = {"the next step", "the next layer", "the next seed"};
  for (std::size_t i = 0; i < kOthers.size(); ++i)
    check_independent(check, agreement(results[0], results[i + 2]), concat("the masks of ", kOthers[i]),
                      i == 3 ? "mix in the samples' numbers, which are in part.samples: not their places in the batch"
                             : "mix in all numbers on which a mask depends");
  for (std::size_t a = 0; a < kNext.size(); ++a)
    for (std::size_t b = a + 1; b < kNext.size(); ++b)
      check_independent(check, agreement(results[a + 2], results[b + 2]),
                        concat("the masks of ", kNext[a], " and of ", kNext[b]),
                        "mix in the numbers one after another: sums of them collide");
  const std::int64_t per_sample = sample_count(call);
  check_independent(check, agreement(from_second(results[0], per_sample), results[7]),
                    "the masks of samples n and n + 1, the first one moved by an element,",
                    "mix in the sample's number, then the element's place: sums of them collide");
  check_distance(check, results[0], per_sample, "samples");
  if (call.cut == Cut::kHeads) check_distance(check, results[0], call.positions * call.positions, "heads");
  check_distance(check, results[0], call.cut == Cut::kHeads ? call.positions : call.width, "positions");
  check_distance(check, results[0], 1, "neighbours");
  for (const double probability : {0.0, 0.75})
    check_share(check, dropped(check, {call}, probability).front(), probability);
  // The samples in the opposite order.
  Values turned;
  for (std::int64_t sample = std::ssize(call.samples); sample-- > 0;)
    turned.insert(turned.end(), results[6].begin() + sample * per_sample,
                  results[6].begin() + (sample + 1) * per_sample);
  check.expect(
      agreement(results[0], turned) == 1,
      "the same samples in another order drop other elements: a mask depends on the sample's place in the batch",
      "part.samples has the samples' numbers, and an element's place counts from the first element of its sample");
}

// Steps much later than another one: a mask of layer * 1000 + step is that of the next layer after 1000 steps.
void check_late_steps(Check& check) {
  constexpr std::array<std::int64_t, 8> kLater = {10, 100, 1000, 10'000, 100'000, 256, 1024, 65'536};
  const Call first{.samples = {11, 4, 27, 5}, .positions = 16, .width = 32};
  std::vector<Call> calls(2, first);
  calls[0].layer += 1;
  calls[1].seed += 1;
  for (const std::int64_t later : kLater) {
    calls.push_back(first);
    calls.back().step += later;
  }
  const std::vector<Values> results = dropped(check, calls, 0.5);
  for (std::size_t i = 0; i < kLater.size(); ++i)
    for (const bool is_seed : {false, true})
      check_independent(
          check, agreement(results[i + 2], results[is_seed ? 1 : 0]),
          concat("the mask of ", kLater[i], " steps later and that of the next ", is_seed ? "seed" : "layer"),
          "mix in the numbers one after another, so that none of them has a limit");
}

// Samples with many elements: a mask of sample * 1000 + place is that of the next sample after 1000 elements.
void check_long_samples(Check& check) {
  constexpr std::array<std::int64_t, 6> kFurther = {1000, 1024, 4096, 10'000, 65'536, 100'000};
  const Call call{.samples = {4, 5}, .positions = 512, .width = 256};
  const Values values = dropped(check, {call}, 0.5).front();
  const auto next_sample = values.begin() + sample_count(call);
  for (const std::int64_t further : kFurther)
    check_independent(check, agreement({values.begin() + further, next_sample}, {next_sample, values.end()}),
                      concat("the mask of a sample from element ", further, " on and that of the next sample"),
                      "mix in the sample's number, then the element's place, so that neither has a limit");
}

std::string text_of(const Call& call) {
  const std::string of_ranks = concat(call.ranks, call.ranks == 1 ? " rank, rank " : " ranks, rank ", call.rank);
  constexpr std::array<const char*, 3> kNames = {"whole stream", "divided rows", "divided heads"};
  return concat(kNames[static_cast<std::size_t>(call.cut)], ", ", call.samples.size(),
                call.samples.size() == 1 ? " sample, T " : " samples, T ", call.positions,
                call.cut == Cut::kHeads ? ", H " : ", C ", call.width, ", ", of_ranks);
}

// Where the mask of a part has come from, if it is that of another part of the whole one.
std::string explained(const Call& call, const Values& got, const Values& whole) {
  for (int other = 0; other < call.ranks; ++other) {
    if (other == call.rank || call.cut == Cut::kNothing) continue;
    Call of_other = call;
    of_other.rank = other;
    Values expected;
    for (const std::size_t place : places_of(of_other)) expected.push_back(whole[place]);
    if (agreement(got, expected) == 1) return concat(": this is the mask of rank ", other, "'s part");
  }
  if (call.cut != Cut::kNothing) return "";
  return ": all ranks have the same elements, and must drop the same ones";
}

std::string advice_for(Cut cut) {
  if (cut == Cut::kRows) return "a rank's rows are one run of the batch's rows, and may begin within a sample";
  if (cut == Cut::kHeads) return "a rank has a run of each sample's elements: its heads, sample after sample";
  return "nothing may depend on the rank here";
}

// The parts of all ranks, compared with the same elements on one rank.
void check_parts(Check& check, const Call& whole, int ranks, double probability = 0.5) {
  std::vector<Call> calls{whole};
  if (whole.cut == Cut::kRows) calls.front().cut = Cut::kNothing;
  for (int rank = 0; rank < ranks; ++rank) {
    calls.push_back(whole);
    calls.back().rank = rank;
    calls.back().ranks = ranks;
  }
  const std::vector<Values> results = dropped(check, calls, probability);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    check_values(check, calls[i], results[i], static_cast<float>(probability));
    const std::vector<std::size_t> places = places_of(calls[i]);
    for (std::size_t element = 0; element < places.size(); ++element) {
      const float expected = results[0][places[element]];
      if (results[i][element] == expected) continue;
      check.wrong(concat(text_of(calls[i]), ": element ", element, " is element ", places[element],
                         " of the whole batch, which is ", expected == 0 ? "dropped" : "kept",
                         " on one rank; here it is not", explained(calls[i], results[i], results[0])),
                  advice_for(whole.cut));
    }
  }
}

void check_micro_batches(Check& check, const Call& whole, std::size_t first_samples) {
  Call first = whole, second = whole;
  first.samples.resize(first_samples);
  second.samples.erase(second.samples.begin(), second.samples.begin() + static_cast<std::ptrdiff_t>(first_samples));
  const std::vector<Values> results = dropped(check, {whole, first, second}, 0.5);
  for (const Values& values : results) check.expect(!values.empty(), "the program's answer makes no sense");
  Values joined = results[1];
  joined.insert(joined.end(), results[2].begin(), results[2].end());
  check.expect(agreement(results[0], joined) == 1,
               concat(text_of(whole), ": in two micro-batches other elements are dropped than in one"),
               "part.samples has the samples' numbers, which do not depend on the micro-batch");
}

}  // namespace checks_10_5

void judge_10_5(Examination& exam) {
  using namespace checks_10_5;
  const std::vector<Purpose> all{Purpose::kOrder,         Purpose::kWholeWeights, Purpose::kCutWeights,
                                 Purpose::kStreamDropout, Purpose::kRowsDropout,  Purpose::kAttentionDropout};
  exam.check("seeds: 2 data ranks with 2 tensor ranks each", [&](Check& check) { check_grid(check, 2, 2, all); });
  exam.check("seeds: one axis alone", [&](Check& check) {
    check_grid(check, 1, 4, all);
    check_grid(check, 4, 1, all);
  });
  exam.check("seeds: no two draws share one", [](Check& check) { check_collisions(check, {2, 3, 3, 2, 3, 3}); });
  exam.check("seeds: large numbers", check_large_numbers);
  exam.check("dropout of a whole stream on one rank", [](Check& check) {
    check_whole(check, {.samples = {11, 4, 27, 5}, .positions = 16, .width = 32});
  });
  exam.check("dropout of a whole stream, many steps later", check_late_steps);
  exam.check("dropout of long samples", check_long_samples);
  exam.check("dropout of all heads on one rank", [](Check& check) {
    check_whole(check, {.cut = Cut::kHeads, .samples = {8, 3}, .positions = 16, .width = 4});
  });
  exam.check("the whole stream on several ranks", [](Check& check) {
    check_parts(check, {.samples = {7, 2}, .positions = 8, .width = 6}, 3);
  });
  exam.check("divided rows", [](Check& check) {
    check_parts(check, {.cut = Cut::kRows, .samples = {7, 2}, .positions = 8, .width = 6}, 2);
    check_parts(check, {.cut = Cut::kRows, .samples = {6, 1, 9}, .positions = 8, .width = 5}, 4, 0.75);
  });
  exam.check("divided heads", [](Check& check) {
    check_parts(check, {.cut = Cut::kHeads, .samples = {3}, .positions = 6, .width = 4}, 2);
    check_parts(check, {.cut = Cut::kHeads, .samples = {5, 12, 8}, .positions = 5, .width = 8}, 4, 0.75);
  });
  exam.check("micro-batches, and a probability of 0", [](Check& check) {
    check_micro_batches(check, {.samples = {9, 14, 2}, .positions = 10, .width = 7}, 1);
    check_micro_batches(check, {.cut = Cut::kHeads, .samples = {9, 14, 2}, .positions = 6, .width = 3}, 2);
    check_parts(check, {.cut = Cut::kRows, .samples = {4, 1}, .positions = 3, .width = 2}, 2, 0);
  });
  exam.full_check("larger grids", [&](Check& check) {
    check_grid(check, 6, 5, all);
    check_collisions(check, {2, 4, 3, 3, 4, 4});
  });
  exam.full_check("random sizes", [](Check& check) {
    PhiloxSequence random(check.seed(), 117);
    const auto drawn = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random.next_below(most)); };
    for (int round = 0; round < 12; ++round) {
      const int ranks = static_cast<int>(drawn(4));
      Call call{.cut = static_cast<Cut>(random.next_below(3)), .positions = drawn(6), .width = drawn(6)};
      call.width *= call.cut == Cut::kHeads ? ranks : 1;
      for (std::int64_t i = drawn(4) * ranks; i > 0; --i) call.samples.push_back(100 * i + drawn(90));
      call.layer = drawn(20);
      check_parts(check, call, ranks, round % 2 == 0 ? 0.5 : 0.75);
    }
  });
}

}  // namespace lockstep::exercise
