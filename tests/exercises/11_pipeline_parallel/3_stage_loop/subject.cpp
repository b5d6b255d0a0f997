#include "exercise/subject.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "11_pipeline_parallel/3_stage_loop/stage_loop.hpp"
#include "autograd/functions.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "exercise/todo.hpp"

namespace lockstep::exercise {
namespace {

using autograd::Variable;
using pipeline::Action;
using pipeline::Pass;
using Floats = std::vector<float>;

// Calls, as the judge numbers them.
enum class Call { kReceiveInput, kForward, kSendOutput, kReceiveGradient, kBackward, kSendGradient };

std::vector<Action> actions_of(const Question& question) {
  std::vector<Action> actions;
  const auto numbers = question.numbers<std::int64_t>("actions");  // pass and micro-batch
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
    actions.push_back({static_cast<Pass>(numbers[i]), 0, static_cast<int>(numbers[i + 1])});
  return actions;
}

// A backward pass without its forward pass before it.
bool has_orphan(std::span<const Action> actions) {
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].pass == Pass::kForward) continue;
    const auto before = actions.first(i);
    if (std::ranges::find(before, Action{Pass::kForward, 0, actions[i].micro_batch}) == before.end()) return true;
  }
  return false;
}

// Multiplies by a weight. Notes each call, and what is still alive of earlier ones.
class NotedStage final : public pipeline::Stage {
 public:
  NotedStage(bool is_first, bool is_last, float weight, std::span<const Action> actions)
      : is_first_(is_first), is_last_(is_last), weight_(Variable::parameter(column({weight}), "weight")) {
    for (const Action& action : actions)
      (action.pass == Pass::kForward ? inputs_ : gradients_).push_back(action.micro_batch);
  }

  [[nodiscard]] bool is_first() const override { return is_first_; }
  [[nodiscard]] bool is_last() const override { return is_last_; }

  [[nodiscard]] Tensor receive_input(int micro_batch) override {
    require(!is_first_, "receive_input(", micro_batch, "): the first stage receives no input");
    const int next = taken_from(inputs_, "input");
    note(Call::kReceiveInput, micro_batch, {});
    return input_of(next);
  }
  void send_output(int micro_batch, const Tensor& output) override {
    require(!is_last_, "send_output(", micro_batch, "): the last stage sends no output");
    note(Call::kSendOutput, micro_batch, floats_of(output));
  }
  [[nodiscard]] Tensor receive_gradient(int micro_batch) override {
    require(!is_last_, "receive_gradient(", micro_batch, "): the last stage receives no gradient");
    const int next = taken_from(gradients_, "gradient");
    note(Call::kReceiveGradient, micro_batch, {});
    return column({static_cast<float>(next + 1), static_cast<float>(-next - 1)});
  }
  void send_gradient(int micro_batch, const Tensor& gradient) override {
    require(!is_first_, "send_gradient(", micro_batch, "): the first stage sends no gradient");
    note(Call::kSendGradient, micro_batch, floats_of(gradient));
  }

  [[nodiscard]] Variable forward(int micro_batch, const Variable& input) override {
    require(is_first_ || (input.is_defined() && input.is_parameter()), "forward(", micro_batch,
            "): the input is no leaf that collects a gradient; make one with Variable::parameter()");
    const Variable samples = is_first_ ? Variable(input_of(micro_batch)) : input;
    if (!is_first_) keep_in_view(input.value().storage());
    note(Call::kForward, micro_batch, floats_of(samples.value()));
    Variable output = autograd::conv1d(samples, weight_, {});
    graphs_.push_back({micro_batch, output.node()});
    if (!is_last_) outputs_.push_back(output.value().storage());
    most_graphs_ = std::max(most_graphs_, alive(graphs_));
    return output;
  }
  void backward(int micro_batch, const Variable& output, Tensor gradient) override {
    goes_back_without_forward_ |= std::ranges::find(graphs_, micro_batch, &Graph::micro_batch) == graphs_.end();
    require(output.is_defined(), "backward(", micro_batch, "): the output is undefined");
    require(gradient.is_defined() != is_last_, "backward(", micro_batch, "): the gradient is ",
            is_last_ ? "defined, in the last stage" : "undefined");
    note(Call::kBackward, micro_batch, {static_cast<float>(owner_of(output)), is_last_ ? 1 : floats_of(gradient)[0]});
    autograd::backward_from({{output, is_last_ ? column({1, 1}) : std::move(gradient)}});
  }

  void report(Answer& answer) const {
    answer.set_numbers<float>("calls", calls_);
    answer.set("most_graphs", static_cast<std::int64_t>(most_graphs_));
    answer.set("most_outputs", static_cast<std::int64_t>(most_outputs_));
    answer.set("most_inputs", static_cast<std::int64_t>(most_inputs_));
    answer.set("goes_back_without_forward", goes_back_without_forward_);
    answer.set_numbers<float>("weight", weight_.has_gradient() ? floats_of(weight_.gradient()) : Floats{});
  }

 private:
  struct Graph {
    int micro_batch;
    std::weak_ptr<Variable::Node> node;
    [[nodiscard]] bool expired() const { return node.expired(); }
  };

  static Tensor column(const Floats& values) {
    return Tensor::from<float>(values, {static_cast<std::int64_t>(values.size()), 1});
  }
  static Tensor input_of(int micro_batch) {
    return column({static_cast<float>(10 * micro_batch + 11), static_cast<float>(10 * micro_batch + 12)});
  }
  static Floats floats_of(const Tensor& tensor) {
    const auto values = tensor.span<float>();
    return {values.begin(), values.end()};
  }
  template <typename Weak>
  static std::size_t alive(const std::vector<Weak>& all) {
    return static_cast<std::size_t>(std::ranges::count_if(all, [](const Weak& one) { return !one.expired(); }));
  }

  // Once, although a loop may copy the inputs of several micro-batches to the same place.
  void keep_in_view(const std::shared_ptr<Storage>& input) {
    const bool is_known =
        std::ranges::any_of(kept_inputs_, [&](const std::weak_ptr<Storage>& one) { return one.lock() == input; });
    if (!is_known) kept_inputs_.push_back(input);
  }

  // A link delivers what was sent first, whatever its receiver expects.
  static int taken_from(std::deque<int>& messages, const char* what) {
    require(!messages.empty(), "there is no more ", what, " to receive");
    const int next = messages.front();
    messages.pop_front();
    return next;
  }

  // The micro-batch whose forward pass returned this output; -1: none of those alive.
  [[nodiscard]] int owner_of(const Variable& output) const {
    for (const Graph& graph : graphs_)
      if (graph.node.lock() == output.node() && output.node() != nullptr) return graph.micro_batch;
    return -1;
  }

  void note(Call call, int micro_batch, Floats values) {
    values.resize(2);
    calls_.insert(calls_.end(), {static_cast<float>(call), static_cast<float>(micro_batch), values[0], values[1]});
    if (call != Call::kSendOutput) most_outputs_ = std::max(most_outputs_, alive(outputs_));
    most_inputs_ = std::max(most_inputs_, alive(kept_inputs_));
  }

  bool is_first_, is_last_;
  bool goes_back_without_forward_ = false;
  Variable weight_;
  std::deque<int> inputs_, gradients_;  // micro-batches, as they arrive
  Floats calls_;                        // four numbers each
  std::vector<Graph> graphs_;
  std::vector<std::weak_ptr<Storage>> outputs_, kept_inputs_;
  std::size_t most_graphs_ = 0, most_outputs_ = 0, most_inputs_ = 0;
};

}  // namespace

Answer answer(Question& question) {
  const std::vector<Action> actions = actions_of(question);
  NotedStage stage(question.get<bool>("is_first"), question.get<bool>("is_last"),
                   static_cast<float>(question.get<double>("weight")), actions);
  Answer result;
  std::string complaint, other_complaint;
  try {
    pipeline::run_actions(actions, stage);
  } catch (const ContractError& error) {
    complaint = error.what();
  } catch (const TodoError&) {
    throw;
  } catch (const std::exception& error) {
    if (!has_orphan(actions)) throw;
    other_complaint = concat("\"", error.what(), "\"");
  }
  stage.report(result);
  result.set("complaint", complaint);
  result.set("other_complaint", other_complaint);
  return result;
}

}  // namespace lockstep::exercise
