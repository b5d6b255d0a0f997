#include <algorithm>
#include <array>
#include <functional>
#include <list>
#include <numeric>
#include <utility>

#include "../../explanation.hpp"
#include "09_sharded/3_stage_costs/stage_costs.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_09_3 {

using sharded::ShardedRun;
using sharded::Stage;

constexpr std::array kStages = {Stage::kDdp, Stage::kZero1, Stage::kZero2, Stage::kZero3};
constexpr std::array<const char*, 4> kStageNames = {"kDdp", "kZero1", "kZero2", "kZero3"};

// A number that people get in place of the right one, and how.
using Known = std::pair<std::int64_t, std::string>;

std::int64_t sum(const std::vector<std::int64_t>& units) {
  return std::accumulate(units.begin(), units.end(), std::int64_t{0});
}

// The moves of a rank in a step of stage 3, pass by pass.
struct Passes {
  std::int64_t gathered = 0;    // elements
  std::int64_t most_whole = 0;  // elements

  // over_update: units stay whole over the update, too. turns_only: they do not stay whole for the next micro-batch.
  explicit Passes(const ShardedRun& run, bool over_update = false, bool turns_only = false) {
    const auto units = static_cast<std::int64_t>(run.units.size());
    std::list<std::int64_t> whole;  // the one used last in front
    const auto use = [&](std::int64_t unit) {
      const auto place = std::ranges::find(whole, unit);
      if (place == whole.end()) gathered += run.units[static_cast<std::size_t>(unit)];
      if (place != whole.end()) whole.erase(place);
      whole.push_front(unit);
      if (whole.size() > static_cast<std::size_t>(run.most_whole)) whole.pop_back();
      std::int64_t elements = 0;
      for (const std::int64_t other : whole) elements += run.units[static_cast<std::size_t>(other)];
      most_whole = std::max(most_whole, elements);
    };
    for (int step = 0; step < (over_update ? 2 : 1); ++step) {
      gathered = 0;  // only the last step counts
      for (int micro_batch = 0; micro_batch < run.micro_batches; ++micro_batch) {
        if (turns_only) whole.clear();
        for (std::int64_t unit = 0; unit < units; ++unit) use(unit);
        for (std::int64_t unit = units - 1; unit >= 0; --unit) use(unit);
      }
    }
  }
};

// Elements that are in collectives of a step, an all-reduce counting as two.
std::int64_t elements_of(Stage stage, const ShardedRun& run) {
  const std::int64_t all = sum(run.units), passes = run.micro_batches;
  if (stage == Stage::kZero2) return passes * all + all;
  if (stage == Stage::kZero3) return Passes(run).gathered + passes * all;
  return all + all;
}

std::int64_t sent_of(const ShardedRun& run, std::int64_t elements) {
  return 4 * (run.ranks - 1) * (elements / run.ranks);
}

std::vector<Known> known_sent(Stage stage, const ShardedRun& run) {
  const std::int64_t all = sum(run.units), m = run.micro_batches, right = elements_of(stage, run);
  std::vector<Known> known = {
      {4 * right, "what a rank has already is sent too: it sends (ranks - 1) / ranks of the bytes"},
      {sent_of(run, right) / 4, "elements are counted, and each has 4 bytes"},
      {2 * sent_of(run, right), "what a rank receives is counted too"},
      {sent_of(run, right) / (run.ranks - 1), "only one part is sent, and not to each of the other ranks"},
      {0, "(ranks - 1) / ranks is a quotient of two integers, and 0: multiply first"},
      {sent_of(run, right) - 1, "a factor such as 1 - 1.0 / ranks is rounded, and the product cut off: use integers"}};
  const auto add = [&](std::int64_t elements, const std::string& what) {
    known.emplace_back(sent_of(run, elements), what);
  };
  if (stage == Stage::kDdp || stage == Stage::kZero1) {
    add(all, "only one half of the all-reduce is counted");
    add((m + 1) * all, "gradients are sent in every micro-batch: they are added up first");
    add(2 * m * all, "the whole exchange is counted in every micro-batch");
  }
  if (stage == Stage::kZero1) add(3 * all, "gradients are all-reduced: a reduce-scatter is enough");
  if (stage == Stage::kZero2) {
    add(2 * all, "gradients are sent once a step: no rank keeps whole gradients until then");
    add((2 * m + 1) * all, "gradients are all-reduced: a reduce-scatter is enough");
    add(2 * m * all, "values are gathered in every micro-batch: they change once a step");
    add(m * all, "the all-gather of new values is missing");
  }
  if (stage == Stage::kZero3) {
    add(3 * m * all, "every pass gathers every unit: some are still whole");
    add(2 * m * all, "values are gathered once for both passes");
    add(Passes(run, true).gathered + m * all, "units stay whole over the update: their values are old then");
    add(Passes(run, false, true).gathered + m * all,
        "no unit stays whole from backward to the forward pass of the next micro-batch");
    add(Passes(run).gathered + all, "gradients are reduced once a step: no rank keeps whole gradients until then");
    add(Passes(run).gathered, "the gradients are missing");
    add(right + all, "values are gathered after the update too: the next pass gathers what it needs");
  }
  return known;
}

struct Held {
  std::int64_t expected;
  std::vector<Known> known;
};

// As many units as are whole at the same time, but the largest ones, wherever they are.
std::int64_t largest_anywhere(const ShardedRun& run, std::int64_t count) {
  std::vector<std::int64_t> units = run.units;
  std::ranges::sort(units, std::greater<>());
  units.resize(static_cast<std::size_t>(std::min(count, std::ssize(units))));
  return sum(units);
}

std::int64_t largest_pair(const ShardedRun& run) {
  std::int64_t largest = run.units.front();
  for (std::size_t i = 1; i < run.units.size(); ++i) largest = std::max(largest, run.units[i - 1] + run.units[i]);
  return largest;
}

Held values_held(Stage stage, const ShardedRun& run) {
  const std::int64_t all = sum(run.units), part = all / run.ranks, largest = std::ranges::max(run.units);
  if (stage != Stage::kZero3) return {4 * all, {{4 * part, "values are divided: only stage 3 does that"}}};
  const auto kept = std::min<std::int64_t>(run.most_whole, std::ssize(run.units));
  return {
      4 * (part + Passes(run).most_whole),
      {{4 * part, "the units that are whole while they are used are missing"},
       {4 * Passes(run).most_whole, "the rank's own parts are missing"},
       {4 * (part + kept * largest), "the largest unit is counted most_whole times: these are neighbours"},
       {4 * (part + largest_anywhere(run, kept)), "the largest units count, wherever they are: these are neighbours"},
       {4 * (part + largest), "a single unit is whole: it is most_whole of them"},
       {4 * all, "values are not divided"}}};
}

Held gradients_held(Stage stage, const ShardedRun& run) {
  const std::int64_t all = sum(run.units), part = all / run.ranks, largest = std::ranges::max(run.units);
  if (stage == Stage::kDdp || stage == Stage::kZero1)
    return {4 * all, {{4 * part, "gradients are divided: that begins with stage 2"}}};
  return {
      4 * (part + largest_pair(run)),
      {{4 * part, "the whole gradients of units that backward is at are missing"},
       {4 * (part + largest), "the unit that is being reduced is missing"},
       {4 * (part + 2 * largest), "the largest unit is counted twice: the two are neighbours"},
       {4 * (part + largest_anywhere(run, 2)), "the two largest units count, wherever they are: these are neighbours"},
       {4 * largest_pair(run), "the rank's own parts are missing"},
       {4 * (part + Passes(run).most_whole), "most_whole units have whole gradients: it is two, in every stage"},
       {4 * all, "gradients are not divided"}}};
}

Held moments_held(Stage stage, const ShardedRun& run) {
  const std::int64_t all = sum(run.units), part = all / run.ranks;
  const std::int64_t elements = stage == Stage::kDdp ? all : part;
  return {8 * elements,
          {{4 * elements, "one moment is counted: AdamW has two"},
           {12 * elements, "a copy of the values is counted: in float32 there is none"},
           {8 * part, "moments are divided: that begins with stage 1"},
           {8 * all, "moments are not divided"}}};
}

std::string text_of(const ShardedRun& run) {
  std::string units;
  for (std::size_t i = 0; i < std::min<std::size_t>(run.units.size(), 8); ++i)
    units += concat(units.empty() ? "" : ", ", run.units[i]);
  if (run.units.size() > 8) units += concat(" and ", run.units.size() - 8, " more");
  return concat("units of ", units, " elements, ranks ", run.ranks, ", micro_batches ", run.micro_batches,
                ", most_whole ", run.most_whole);
}

void compare(Check& check, const std::string& what, std::int64_t got, std::int64_t expected,
             const std::vector<Known>& known) {
  if (got == expected) return;
  std::vector<std::string> causes;
  for (const auto& [value, cause] : known)
    if (got == value) causes.push_back(cause);
  check.wrong(concat(what, " ", expected, " bytes; got ", got, explanation_of(causes)));
}

void check_run(Check& check, const ShardedRun& run) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"units", to_message(std::span(run.units))},
                          {"ranks", run.ranks},
                          {"micro_batches", run.micro_batches},
                          {"most_whole", run.most_whole}};
  }});
  const auto sent = check.numbers<std::int64_t>(outcome, 0, "sent"),
             held = check.numbers<std::int64_t>(outcome, 0, "held");
  const std::string setting = text_of(run);
  for (std::size_t s = 0; s < kStages.size(); ++s) {
    const std::string begin = concat(setting, ": in ", kStageNames[s], " a rank ");
    compare(check, begin + "sends", sent.at(s), sent_of(run, elements_of(kStages[s], run)),
            known_sent(kStages[s], run));
  }
  for (std::size_t s = 0; s < kStages.size(); ++s) {
    const std::string begin = concat(setting, ": in ", kStageNames[s], " a rank holds at most ");
    const Held values = values_held(kStages[s], run), gradients = gradients_held(kStages[s], run),
               moments = moments_held(kStages[s], run);
    compare(check, begin + "values of", held.at(3 * s), values.expected, values.known);
    compare(check, begin + "gradients of", held.at(3 * s + 1), gradients.expected, gradients.known);
    compare(check, begin + "moments of", held.at(3 * s + 2), moments.expected, moments.known);
  }
}

// wte, wpe, blocks and the vectors of a GPT.
std::vector<std::int64_t> gpt_units(std::int64_t width, int blocks, std::int64_t vocabulary) {
  std::vector<std::int64_t> units = {vocabulary * width, 64 * width};
  for (int block = 0; block < blocks; ++block) units.push_back(12 * width * width);
  units.push_back(64 * width);
  return units;
}

}  // namespace checks_09_3

void judge_09_3(Examination& exam) {
  using namespace checks_09_3;
  exam.check("one micro-batch, units of one size", [](Check& check) {
    check_run(check, {.units = {64, 64, 64, 64, 64, 64}, .ranks = 4});
  });
  exam.check("the example of the task", [](Check& check) {
    check_run(check, {.units = {8, 16, 32}, .ranks = 2, .micro_batches = 1, .most_whole = 1});
  });
  exam.check("four micro-batches", [](Check& check) {
    check_run(check, {.units = {24, 48, 96, 192, 30, 12}, .ranks = 3, .micro_batches = 4});
  });
  exam.check("the largest units are no neighbours", [](Check& check) {
    check_run(check, {.units = {960, 80, 80, 800, 80}, .ranks = 8, .micro_batches = 2});
    check_run(check, {.units = {80, 960, 80, 80, 880, 160}, .ranks = 8, .micro_batches = 3, .most_whole = 3});
  });
  exam.check("everything may stay whole", [](Check& check) {
    check_run(check, {.units = {40, 80, 120}, .ranks = 4, .micro_batches = 3, .most_whole = 3});
    check_run(check, {.units = {40, 80, 120}, .ranks = 4, .micro_batches = 3, .most_whole = 100});
  });
  exam.check("one unit", [](Check& check) {
    check_run(check, {.units = {512}, .ranks = 2, .micro_batches = 1});
    check_run(check, {.units = {512}, .ranks = 2, .micro_batches = 5, .most_whole = 1});
  });
  exam.check("GPTs with 10 and 124 million parameters", [](Check& check) {
    check_run(check, {.units = gpt_units(384, 6, 2048), .ranks = 4, .micro_batches = 1, .most_whole = 3});
    check_run(check, {.units = gpt_units(768, 12, 50304), .ranks = 64, .micro_batches = 8, .most_whole = 3});
  });
  exam.full_check("random models", [](Check& check) {
    PhiloxSequence random(check.seed(), 93);
    for (int round = 0; round < 12; ++round) {
      ShardedRun run{.units = {},
                     .ranks = static_cast<int>(2 + random.next_below(9)),
                     .micro_batches = static_cast<int>(1 + random.next_below(5)),
                     .most_whole = static_cast<int>(1 + random.next_below(5))};
      const std::uint64_t units = 1 + random.next_below(9);
      for (std::uint64_t i = 0; i < units; ++i)
        run.units.push_back(run.ranks * static_cast<std::int64_t>(1 + random.next_below(1000)));
      check_run(check, run);
    }
  });
}

}  // namespace lockstep::exercise
