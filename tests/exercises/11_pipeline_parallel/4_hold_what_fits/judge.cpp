#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "../../explanation.hpp"
#include "../examined_schedule.hpp"
#include "../played_schedule.hpp"
#include "11_pipeline_parallel/4_hold_what_fits/hold_what_fits.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_11_4 {

using pipeline::Action;
using pipeline::Pass;
using pipeline::StageBytes;
using Actions = std::vector<Action>;
using Numbers = std::vector<std::int64_t>;

// The digits of a sum to this base say how often each part is in it.
constexpr std::int64_t kBase = 1000;
constexpr StageBytes kDecodable = {
    .input = 1, .saved = kBase, .output = kBase * kBase, .weight_gradients = kBase * kBase * kBase};

// How often each part is there.
using Counts = std::array<std::int64_t, 4>;

std::int64_t sum_of(const Counts& counts, const StageBytes& bytes) {
  return counts[0] * bytes.input + counts[1] * bytes.saved + counts[2] * bytes.output +
         counts[3] * bytes.weight_gradients;
}

// "2 x input, 1 x saved"
std::string text_of(const Counts& counts) {
  constexpr std::array<const char*, 4> kNames = {"input", "saved", "output", "weight_gradients"};
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) text += concat(text.empty() ? "" : ", ", counts[i], " x ", kNames[i]);
  return text.empty() ? "nothing" : text;
}

std::string name_of(const Action& action) {
  return concat(action.pass == Pass::kForward ? "F" : "B", action.micro_batch);
}

std::string text_of(const Actions& actions) {
  std::string text;
  for (const Action& action : actions) text += concat(text.empty() ? "" : " ", name_of(action));
  return text;
}

nlohmann::json message_of(const std::vector<StageBytes>& stages) {
  Numbers numbers;
  for (const auto& [input, saved, output, weight_gradients] : stages)
    numbers.insert(numbers.end(), {input, saved, output, weight_gradients});
  return to_message(std::span<const std::int64_t>(numbers));
}

// From the beginning of an action to its end, each micro-batch by itself.
Counts counts_during(const Actions& actions, std::size_t at) {
  const auto has = [&](std::size_t begin, std::size_t end, const Action& wanted) {
    return std::find(actions.begin() + static_cast<std::ptrdiff_t>(begin),
                     actions.begin() + static_cast<std::ptrdiff_t>(end),
                     wanted) != actions.begin() + static_cast<std::ptrdiff_t>(end);
  };
  Counts counts{};
  for (std::size_t i = 0; i <= at; ++i) {
    const Action back{Pass::kBackward, actions[i].stage, actions[i].micro_batch};
    if (actions[i].pass == Pass::kBackward) counts[3] = 1;
    if (actions[i].pass == Pass::kForward && has(at, actions.size(), back)) ++counts[0], ++counts[1];
  }
  const Action back{Pass::kBackward, actions[at].stage, actions[at].micro_batch};
  ++counts[2];                                                            // the output, or its gradient
  if (!has(0, actions.size(), back) || actions[at] == back) ++counts[0];  // its input, or that one's gradient
  return counts;
}

// "1002, which is 2 x input, 1 x saved"
std::string decoded(std::int64_t sum, const StageBytes& bytes) {
  const bool is_decodable = bytes.saved == kBase && sum >= 0 && sum < kBase * kBase * kBase * kBase;
  if (!is_decodable) return std::to_string(sum);
  Counts counts{};
  for (std::int64_t rest = sum; std::int64_t & count : counts) {
    count = rest % kBase;
    rest /= kBase;
  }
  return concat(sum, ", which is ", text_of(counts));
}

void check_bytes(Check& check, const Actions& actions, const StageBytes& bytes = kDecodable) {
  Numbers list;
  for (const Action& action : actions)
    list.insert(list.end(), {static_cast<std::int64_t>(action.pass), action.micro_batch});
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"what", "bytes"},
                          {"stages", message_of({bytes})},
                          {"stage", actions.front().stage},
                          {"actions", to_message(std::span<const std::int64_t>(list))}};
  }});
  const Numbers got = check.numbers<std::int64_t>(outcome, 0, "bytes");
  const std::string place = concat(text_of(actions), " with input ", bytes.input, ", saved ", bytes.saved, ", output ",
                                   bytes.output, ", weight_gradients ", bytes.weight_gradients, ": ");
  if (got.size() != actions.size())
    check.wrong(concat(place, "there are ", actions.size(), " actions; got ", got.size(), " numbers"));
  std::vector<std::string> yours{"your numbers:"};
  for (std::size_t i = 0; i < got.size(); ++i)
    yours.push_back(concat(name_of(actions[i]), "  ", decoded(got[i], bytes)));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Counts counts = counts_during(actions, i);
    const std::int64_t expected = sum_of(counts, bytes);
    if (got[i] != expected)
      check.wrong(concat(place, "during ", name_of(actions[i]), " a rank needs ", expected, " bytes, ", text_of(counts),
                         "; got ", decoded(got[i], bytes)),
                  "what is there at the beginning of this pass, and what does the pass make?", yours);
  }
}

struct Budget {
  StageBytes stage;
  std::int64_t bytes;
};

// Tried one after another.
std::int64_t fitting(const Budget& budget) {
  const auto& [stage, bytes] = budget;
  std::int64_t held = 0;
  while (sum_of({held + 2, held + 1, 1, 1}, stage) <= bytes) ++held;
  return held;
}

std::int64_t divided(std::int64_t room, std::int64_t each) { return room < 0 ? 0 : room / each; }

// Wrong formulas, of which one explains an answer if it gives the numbers for all budgets.
struct Formula {
  std::int64_t (*most)(const StageBytes& stage, std::int64_t budget);
  const char* cause;
};
constexpr Formula kFormulas[] = {
    {[](const StageBytes& s, std::int64_t budget) { return divided(budget, s.input + s.saved); },
     "only what is held is counted, not what a pass needs besides"},
    {[](const StageBytes& s, std::int64_t budget) {
       return divided(budget - s.weight_gradients - s.output, s.input + s.saved);
     },
     "the forward pass is counted: a backward pass needs more"},
    {[](const StageBytes& s, std::int64_t budget) {
       return divided(budget - s.weight_gradients - s.input, s.input + s.saved);
     },
     "the gradient of the output is left out"},
    {[](const StageBytes& s, std::int64_t budget) { return divided(budget - s.weight_gradients, s.input + s.saved); },
     "the gradients of the output and of the input are left out"},
    {[](const StageBytes& s, std::int64_t budget) { return divided(budget - s.output - s.input, s.input + s.saved); },
     "the weights' gradients are left out"},
    {[](const StageBytes& s, std::int64_t budget) {
       return divided(budget - s.weight_gradients - s.output + s.saved - 1, s.input + s.saved);
     },
     "the number is rounded up"},
    {[](const StageBytes& s, std::int64_t budget) {
       return (budget - s.weight_gradients - s.output - s.input) / (s.input + s.saved);
     },
     "there may be less room than a pass needs: then not even one fits, 0"},
    {[](const StageBytes& s, std::int64_t budget) {
       return divided(budget - s.weight_gradients - s.output - s.input, s.input + s.saved + s.output);
     },
     "an output is held with each micro-batch: it has been sent"},
};

std::vector<std::string> causes_of(const std::vector<std::int32_t>& most, const std::vector<Budget>& budgets) {
  std::vector<std::string> causes;
  for (const auto& [formula, cause] : kFormulas) {
    bool explains_all = true;
    for (std::size_t i = 0; i < budgets.size(); ++i)
      explains_all = explains_all && formula(budgets[i].stage, budgets[i].bytes) == most[i];
    if (explains_all) causes.emplace_back(cause);
  }
  return causes;
}

void check_fitting(Check& check, const std::vector<Budget>& budgets) {
  std::vector<StageBytes> stages;
  Numbers bytes;
  for (const Budget& budget : budgets) {
    stages.push_back(budget.stage);
    bytes.push_back(budget.bytes);
  }
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{
        {"what", "fit"}, {"stages", message_of(stages)}, {"budgets", to_message(std::span<const std::int64_t>(bytes))}};
  }});
  const std::vector<std::int32_t> most = check.numbers<std::int32_t>(outcome, 0, "most");
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    const auto& [input, saved, output, weight_gradients] = stages[i];
    const std::int64_t expected = fitting(budgets[i]);
    if (most.at(i) != expected)
      check.wrong(
          concat("input ", input, ", saved ", saved, ", output ", output, ", weight_gradients ", weight_gradients,
                 ", budget ", bytes[i], ": ", expected, expected == 1 ? " micro-batch fits" : " micro-batches fit",
                 "; got ", most[i], explanation_of(causes_of(most, budgets))),
          "which pass needs most, and what is there besides what the rank holds?");
  }
}

std::string text_of(const std::vector<int>& most_held) {
  std::string text;
  for (const int most : most_held) text += concat(text.empty() ? "" : ", ", most);
  return concat("most_held {", text, "}");
}

// The lists, what they hold, and how long they take. No schedule is shorter than the one that is played:
// played_schedule_test.cpp tries all.
void check_lists(const ExaminedSchedule& examined, int micro_batches, const std::vector<int>& most_held) {
  examined.check_lists();
  const std::vector<int> limits = limits_of(most_held);
  for (std::size_t rank = 0; rank < limits.size(); ++rank) {
    const bool is_own_limit = limits[rank] == most_held[rank];
    examined.check_held(static_cast<int>(rank), limits[rank],
                        is_own_limit ? "a rank may not begin the next forward pass while it holds as many as it may"
                                     : "rank r never needs more than p - r, whatever its limit is");
  }
  const PlayedSchedule played(micro_batches, limits, Prefer::kBackward, 2);
  examined.check_duration(played.units(),
                          "find a rank that waits for a pass, although the input of another one is there");
}

void check_schedule(Check& check, int micro_batches, const std::vector<int>& most_held) {
  const int ranks = static_cast<int>(most_held.size());
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"what", "schedule"},
                          {"micro_batches", micro_batches},
                          {"most_held", to_message(std::span<const std::int32_t>(most_held))}};
  }});
  const std::string name =
      concat(micro_batches, micro_batches == 1 ? " micro-batch, " : " micro-batches, ", text_of(most_held));
  check_lists(ExaminedSchedule(check, outcome, name, ranks, micro_batches), micro_batches, most_held);
}

// All three functions together: from bytes to a schedule that fits.
void check_budgets(Check& check, int micro_batches, const std::vector<StageBytes>& stages, std::int64_t budget) {
  const int ranks = static_cast<int>(stages.size());
  const Numbers budgets(stages.size(), budget);
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"what", "budgets"},
                          {"stages", message_of(stages)},
                          {"budgets", to_message(std::span<const std::int64_t>(budgets))},
                          {"micro_batches", micro_batches}};
  }});
  const auto most = check.numbers<std::int32_t>(outcome, 0, "most");
  for (std::size_t rank = 0; rank < stages.size(); ++rank) {
    const std::int64_t expected = fitting({stages[rank], budget});
    if (most.at(rank) != expected)
      check.wrong(concat("on rank ", rank, " of ", ranks, " fit ", expected, "; got ", most[rank]));
  }
  const std::vector<int> most_held(most.begin(), most.end());
  const ExaminedSchedule examined(check, outcome,
                                  concat(ranks, " ranks, ", micro_batches, " micro-batches, ", text_of(most_held)),
                                  ranks, micro_batches);
  check_lists(examined, micro_batches, most_held);
  const Numbers peaks = check.numbers<std::int64_t>(outcome, 0, "peaks");
  for (std::size_t rank = 0; rank < stages.size(); ++rank) {
    const Actions& actions = examined.schedule()[rank];
    std::int64_t peak = 0;
    for (std::size_t i = 0; i < actions.size(); ++i)
      peak = std::max(peak, sum_of(counts_during(actions, i), stages[rank]));
    if (peak > budget || peaks.at(rank) != peak)
      check.wrong(concat("rank ", rank, " needs ", peak, " bytes of ", budget, "; your bytes_during() says ",
                         peaks.at(rank), " at most"));
  }
}

Actions actions_of(const std::string& names) {
  Actions actions;
  for (std::size_t i = 0; i + 1 < names.size(); i += 3)
    actions.push_back({names[i] == 'F' ? Pass::kForward : Pass::kBackward, 0, names[i + 1] - '0'});
  return actions;
}

// Forward passes in order, and backward passes of some of them in any order, each after its forward pass.
Actions random_list(PhiloxSequence& random, int micro_batches) {
  Actions actions;
  std::vector<int> held;
  for (int next = 0; next < micro_batches || !held.empty();) {
    if (next < micro_batches && (held.empty() || random.next_below(2) == 0)) {
      if (random.next_below(4) != 0) held.push_back(next);
      actions.push_back({Pass::kForward, 0, next++});
      continue;
    }
    const auto place = static_cast<std::ptrdiff_t>(random.next_below(held.size()));
    actions.push_back({Pass::kBackward, 0, held[static_cast<std::size_t>(place)]});
    held.erase(held.begin() + place);
  }
  return actions;
}

// GPT-2 124M in fp32, three blocks on each rank, with micro-batches of 4 samples of 1024 positions. A block saves 17
// activations of [4096, 768]; the last rank saves the logits, too, and the first and the last one have the token table.
std::vector<StageBytes> gpt2_stages() {
  constexpr std::int64_t kActivation = 4LL * 4096 * 768, kLogits = 4LL * 4096 * 50257, kTable = 4LL * 50257 * 768,
                         kBlocks = 4LL * 3 * 7'087'872, kSaved = 3 * 17 * kActivation;
  return {{0, kSaved, kActivation, kBlocks + kTable},
          {kActivation, kSaved, kActivation, kBlocks},
          {kActivation, kSaved, kActivation, kBlocks},
          {kActivation, kSaved + kLogits, 0, kBlocks + kTable}};
}

void check_random(Check& check) {
  PhiloxSequence random(check.seed(), 114);
  const auto number = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random.next_below(most)); };
  for (int round = 0; round < 6; ++round) {
    check_bytes(check, random_list(random, static_cast<int>(number(8))));
    std::vector<Budget> budgets;
    for (int i = 0; i < 20; ++i)
      budgets.push_back({{number(50) - 1, number(90), number(50) - 1, number(100) - 1}, number(900)});
    check_fitting(check, budgets);
    std::vector<int> most_held(static_cast<std::size_t>(number(6)));
    for (int& most : most_held) most = static_cast<int>(number(6));
    check_schedule(check, static_cast<int>(number(12)), most_held);
  }
}

}  // namespace checks_11_4

void judge_11_4(Examination& exam) {
  using namespace checks_11_4;
  constexpr StageBytes kSmall = {.input = 3, .saved = 20, .output = 7, .weight_gradients = 50};
  exam.check("bytes: two micro-batches forward, then back",
             [](Check& check) { check_bytes(check, actions_of("F0 F1 B0 B1")); });
  exam.check("bytes: 1F1B on rank 1 of 4",
             [](Check& check) { check_bytes(check, pipeline::one_forward_one_backward(4, 6)[1]); });
  exam.check("bytes: any order, and passes that do not come back", [](Check& check) {
    check_bytes(check, actions_of("F0 F1 F2 B2 F3 B0 B3"));
    check_bytes(check, actions_of("F0 F1"));
    check_bytes(check, pipeline::gpipe(2, 3)[0], gpt2_stages().front());
  });
  exam.check("how many fit", [&](Check& check) {
    std::vector<Budget> budgets;
    for (const std::int64_t bytes : {120, 129, 128, 83, 82, 77, 60, 59, 0}) budgets.push_back({kSmall, bytes});
    budgets.push_back({{.input = 0, .saved = 10, .output = 4, .weight_gradients = 0}, 34});
    budgets.push_back({{.input = 5, .saved = 10, .output = 0, .weight_gradients = 8}, 57});
    budgets.push_back({gpt2_stages()[1], 20'000'000'000});
    check_fitting(check, budgets);
  });
  exam.check("the example of the task", [](Check& check) { check_schedule(check, 6, {2, 2, 2, 2}); });
  exam.check("room for all: 1F1B", [](Check& check) { check_schedule(check, 4, {9, 9, 9}); });
  exam.check("limits that differ", [](Check& check) { check_schedule(check, 9, {4, 2, 3, 4}); });
  exam.check("the first rank has the least room", [](Check& check) { check_schedule(check, 7, {2, 4, 4, 4}); });
  exam.check("fewer micro-batches than fit", [](Check& check) {
    check_schedule(check, 2, {4, 4, 4, 4});
    check_schedule(check, 1, {3, 1, 2});
    check_schedule(check, 5, {3});
  });
  exam.check("GPT-2 on 4 ranks, from bytes to a schedule",
             [](Check& check) { check_budgets(check, 16, gpt2_stages(), 2'000'000'000); });
  exam.full_check("random lists, budgets and limits", [](Check& check) { check_random(check); });
}

}  // namespace lockstep::exercise
