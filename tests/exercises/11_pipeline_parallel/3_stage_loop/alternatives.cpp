#include "exercise/alternatives.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "11_pipeline_parallel/3_stage_loop/stage_loop.hpp"
#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"two_lists", "inputs and outputs are kept in lists by micro-batch, which have gaps"},
    {"keeps_the_node", "of an output only its node is kept, in a variable that is made before backward"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::pipeline {

using exercise::is_alternative;

void run_actions(std::span<const Action> actions, Stage& stage) {
  int count = 0;
  for (const Action& action : actions) count = std::max(count, action.micro_batch + 1);
  std::vector<std::optional<Variable>> inputs(static_cast<std::size_t>(count)), outputs(inputs.size());
  std::vector<std::shared_ptr<Variable::Node>> nodes(inputs.size());
  for (const Action& action : actions) {
    const int i = action.micro_batch;
    std::optional<Variable>&input = inputs[static_cast<std::size_t>(i)], &output = outputs[static_cast<std::size_t>(i)];
    if (action.pass == Pass::kForward) {
      input = stage.is_first() ? Variable() : Variable::parameter(stage.receive_input(i), "arrived");
      output = stage.forward(i, *input);
      if (stage.is_last()) continue;
      stage.send_output(i, output->value());
      nodes[static_cast<std::size_t>(i)] = output->node();
      output = is_alternative("keeps_the_node") ? Variable() : output->without_value();
      continue;
    }
    require(input && output, "no forward pass of micro-batch ", i, " has been done");
    Tensor gradient;
    if (!stage.is_last()) gradient = stage.receive_gradient(i);
    Variable start = std::move(*output);
    if (!start.is_defined()) start = Variable(Tensor(), nodes[static_cast<std::size_t>(i)]);
    stage.backward(i, start, gradient);
    if (!stage.is_first()) stage.send_gradient(i, input->gradient());
    input.reset();
    output.reset();
    nodes[static_cast<std::size_t>(i)].reset();
  }
}

}  // namespace lockstep::pipeline
