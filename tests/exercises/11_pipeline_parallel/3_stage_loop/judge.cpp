#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "11_pipeline_parallel/schedules/timeline.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_11_3 {

using pipeline::Action;
using pipeline::Pass;
using Actions = std::vector<Action>;

constexpr std::array<const char*, 6> kCallNames = {"receive_input",    "forward",  "send_output",
                                                   "receive_gradient", "backward", "send_gradient"};

// A call of the loop: which one, and two numbers of what it was given.
struct Call {
  std::size_t kind;
  int micro_batch;
  float first = 0, second = 0;

  [[nodiscard]] bool is_same_call(const Call& other) const {
    return kind == other.kind && micro_batch == other.micro_batch;
  }
  [[nodiscard]] std::string text() const {
    return concat(kind < kCallNames.size() ? kCallNames[kind] : "?", "(", micro_batch, ")");
  }
};

struct Place {
  std::string name;
  bool is_first, is_last;
};

// Those of a correct loop: the stage multiplies by `weight`.
std::vector<Call> expected_calls(const Actions& actions, const Place& place, float weight) {
  std::vector<Call> calls;
  for (const auto& [pass, stage, i] : actions) {
    const auto input = static_cast<float>(10 * i + 11);
    if (pass == Pass::kForward) {
      if (!place.is_first) calls.push_back({0, i});
      calls.push_back({1, i, input, input + 1});
      if (!place.is_last) calls.push_back({2, i, weight * input, weight * (input + 1)});
      continue;
    }
    const float first = place.is_last ? 1 : static_cast<float>(i + 1), second = place.is_last ? 1 : -first;
    if (!place.is_last) calls.push_back({3, i});
    calls.push_back({4, i, static_cast<float>(i), first});
    if (!place.is_first) calls.push_back({5, i, weight * first, weight * second});
  }
  return calls;
}

// The sum over the micro-batches of input times gradient.
float expected_gradient(const Actions& actions, const Place& place) {
  float sum = 0;
  for (const auto& [pass, stage, i] : actions) {
    if (pass == Pass::kForward) continue;
    const auto input = static_cast<float>(10 * i + 11);
    sum += place.is_last ? 2 * input + 1 : static_cast<float>(i + 1) * (input - (input + 1));
  }
  return sum;
}

std::string text_of(const Actions& actions) {
  std::string text;
  for (const auto& [pass, stage, micro_batch] : actions)
    text += concat(text.empty() ? "" : " ", pass == Pass::kForward ? "F" : "B", micro_batch);
  return text;
}

class Examined {
 public:
  Examined(Check& check, Place place, Actions actions)
      : check_(check), place_(std::move(place)), actions_(std::move(actions)), outcome_(check.run(options())) {}

  void check_all() const {
    const std::vector<float> numbers = check_.numbers<float>(outcome_, 0, "calls");
    std::vector<Call> calls;
    for (std::size_t i = 0; i + 3 < numbers.size(); i += 4)
      calls.push_back(
          {static_cast<std::size_t>(numbers[i]), static_cast<int>(numbers[i + 1]), numbers[i + 2], numbers[i + 3]});
    check_calls(calls);
    const auto complaint = check_.get<std::string>(outcome_, 0, "complaint");
    if (!complaint.empty()) fail(complaint);
    check_memory();
    const std::vector<float> weight = check_.numbers<float>(outcome_, 0, "weight");
    const float expected = expected_gradient(actions_, place_);
    if (expected != 0 && (weight.size() != 1 || weight[0] != expected))
      fail(concat("the gradient of the weight should be ", shown(expected), "; it is ",
                  weight.empty() ? "not there" : shown(weight[0])));
  }

  // A backward pass without its forward pass.
  void check_refused() const {
    const auto complaint = check_.get<std::string>(outcome_, 0, "complaint"),
               other = check_.get<std::string>(outcome_, 0, "other_complaint");
    if (!other.empty())
      fail(concat("the loop throws, but no ContractError: ", other),
           "look whether the forward pass has been there, and let require() throw");
    if (complaint.empty()) fail("the loop should throw a ContractError: a backward pass has no forward pass before it");
    if (check_.get<bool>(outcome_, 0, "goes_back_without_forward"))
      fail(
          "the loop calls backward() for a micro-batch without a forward(); it should throw a ContractError before "
          "that",
          "look for what you have kept of the micro-batch; [] of a map makes an empty entry if there is none");
  }

 private:
  static constexpr float kWeight = 3;

  [[nodiscard]] TrialOptions options() const {
    std::vector<std::int64_t> numbers;
    for (const Action& action : actions_) {
      numbers.push_back(static_cast<std::int64_t>(action.pass));
      numbers.push_back(action.micro_batch);
    }
    TrialOptions options;
    options.question = [this, numbers](int) {
      return nlohmann::json{{"actions", to_message(std::span<const std::int64_t>(numbers))},
                            {"is_first", place_.is_first},
                            {"is_last", place_.is_last},
                            {"weight", static_cast<double>(kWeight)}};
    };
    return options;
  }

  [[noreturn]] void fail(const std::string& what, const std::string& next = "") const {
    check_.wrong(concat(place_.name, " with ", text_of(actions_), ": ", what), next);
  }

  void check_calls(const std::vector<Call>& calls) const {
    const std::vector<Call> expected = expected_calls(actions_, place_, kWeight);
    const auto complaint = check_.get<std::string>(outcome_, 0, "complaint");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string after =
          i == 0 ? std::string("the first call") : concat("after ", expected[i - 1].text(), " the next call");
      if (i >= calls.size())
        fail(complaint.empty() ? concat(after, " should be ", expected[i].text(), "; there is none") : complaint);
      if (!calls[i].is_same_call(expected[i]))
        fail(concat(after, " should be ", expected[i].text(), "; it is ", calls[i].text()));
      check_numbers(calls[i], expected[i]);
    }
    if (calls.size() > expected.size())
      fail(concat("after the last action comes one more call, ", calls[expected.size()].text()));
  }

  void check_numbers(const Call& call, const Call& expected) const {
    if (call.first == expected.first && call.second == expected.second) return;
    if (call.kind == 4 && call.first != expected.first) {
      fail(call.first < 0 ? concat(call.text(), " gets an output that forward() did not return")
                          : concat(call.text(), " gets the output of micro-batch ", call.first),
           "keep outputs by micro-batch");
    }
    if (call.kind == 4)
      fail(concat(call.text(), " gets a gradient that begins with ", call.second, ", not ", expected.second));
    fail(concat(call.text(), " gets ", shown(call.first), ", ", shown(call.second), "; it should get ",
                shown(expected.first), ", ", shown(expected.second)));
  }

  void check_memory() const {
    const auto graphs = check_.get<std::int64_t>(outcome_, 0, "most_graphs"),
               outputs = check_.get<std::int64_t>(outcome_, 0, "most_outputs"),
               inputs = check_.get<std::int64_t>(outcome_, 0, "most_inputs");
    const bool has_backward = std::ranges::count(actions_, Pass::kBackward, &Action::pass) > 0;
    const int enough = pipeline::most_held_by(actions_);
    if (has_backward && graphs > enough)
      fail(concat(graphs, " micro-batches are held at the same time; ", enough, " are enough"),
           "after a backward pass, let go of what was kept for it");
    if (has_backward && inputs > enough)
      fail(concat(inputs, " inputs are held at the same time; ", enough, " are enough"),
           "a micro-batch's input can go when its gradient has been sent");
    if (outputs > 0)
      fail(concat("the elements of ", outputs, outputs == 1 ? " output" : " outputs", " are kept after they were sent"),
           "the output leads to the graph without its elements, too: without_value()");
  }

  Check& check_;
  Place place_;
  Actions actions_;
  const Outcome& outcome_;
};

const Place kFirst{"the first stage", true, false}, kMiddle{"a stage in the middle", false, false},
    kLast{"the last stage", false, true}, kOnly{"the only stage", true, true};

Actions list_of(const pipeline::Schedule& schedule, std::size_t rank) {
  Actions actions = schedule.at(rank);
  for (Action& action : actions) action.stage = 0;
  return actions;
}

void check_list(Check& check, const Place& place, const Actions& actions) {
  Examined(check, place, actions).check_all();
}

// Forward passes in order, and backward passes in any order, each after its forward pass.
Actions random_list(PhiloxSequence& random, int micro_batches) {
  Actions actions;
  std::vector<int> held;
  for (int next = 0; next < micro_batches || !held.empty();) {
    if (next < micro_batches && (held.empty() || random.next_below(2) == 0)) {
      held.push_back(next);
      actions.push_back({Pass::kForward, 0, next++});
      continue;
    }
    const auto chosen = held.begin() + static_cast<std::ptrdiff_t>(random.next_below(held.size()));
    actions.push_back({Pass::kBackward, 0, *chosen});
    held.erase(chosen);
  }
  return actions;
}

}  // namespace checks_11_3

void judge_11_3(Examination& exam) {
  using namespace checks_11_3;
  using namespace pipeline;
  exam.check("a stage in the middle, one micro-batch",
             [](Check& check) { check_list(check, kMiddle, list_of(naive(3, 1), 1)); });
  exam.check("a stage in the middle, 1F1B",
             [](Check& check) { check_list(check, kMiddle, list_of(one_forward_one_backward(4, 6), 1)); });
  exam.check("the first stage, GPipe", [](Check& check) { check_list(check, kFirst, list_of(gpipe(3, 4), 0)); });
  exam.check("the last stage, 1F1B",
             [](Check& check) { check_list(check, kLast, list_of(one_forward_one_backward(3, 4), 2)); });
  exam.check("the only stage, naive", [](Check& check) { check_list(check, kOnly, list_of(naive(1, 3), 0)); });
  exam.check("backward passes in another order", [](Check& check) {
    check_list(check, kMiddle,
               {{Pass::kForward, 0, 0},
                {Pass::kForward, 0, 1},
                {Pass::kForward, 0, 2},
                {Pass::kBackward, 0, 1},
                {Pass::kBackward, 0, 2},
                {Pass::kBackward, 0, 0}});
  });
  exam.check("an evaluation", [](Check& check) { check_list(check, kMiddle, list_of(forward_only(3, 3), 1)); });
  exam.check("a backward pass without its forward pass", [](Check& check) {
    Examined(check, kMiddle, {{Pass::kForward, 0, 0}, {Pass::kBackward, 0, 1}}).check_refused();
  });
  exam.full_check("random lists", [](Check& check) {
    PhiloxSequence random(check.seed(), 113);
    for (int round = 0; round < 6; ++round)
      for (const Place& place : {kFirst, kMiddle, kLast, kOnly})
        check_list(check, place, random_list(random, static_cast<int>(1 + random.next_below(6))));
  });
}

}  // namespace lockstep::exercise
