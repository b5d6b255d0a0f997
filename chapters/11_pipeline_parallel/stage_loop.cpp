#include "11_pipeline_parallel/stage_loop.hpp"

#include <map>
#include <utility>

#include "base/error.hpp"

namespace lockstep::pipeline {
namespace {

// Kept from the forward pass of a micro-batch to its backward pass.
struct Held {
  Variable input;   // collects the gradient that the stage before is waiting for; undefined in the first stage
  Variable output;  // its graph; in the last stage the loss
};

Held forward(Stage& stage, int micro_batch) {
  Held held;
  if (!stage.is_first()) held.input = Variable::parameter(stage.receive_input(micro_batch), "");
  held.output = stage.forward(micro_batch, held.input);
  if (stage.is_last()) return held;
  stage.send_output(micro_batch, held.output.value());
  held.output = held.output.without_value();
  return held;
}

void backward(Stage& stage, int micro_batch, const Held& held) {
  Tensor gradient = stage.is_last() ? Tensor() : stage.receive_gradient(micro_batch);
  stage.backward(micro_batch, held.output, std::move(gradient));
  if (!stage.is_first()) stage.send_gradient(micro_batch, held.input.gradient());
}

}  // namespace

void run_actions(std::span<const Action> actions, Stage& stage) {
  std::map<int, Held> held;  // by micro-batch
  for (const Action& action : actions) {
    if (action.pass == Pass::kForward) {
      held.emplace(action.micro_batch, forward(stage, action.micro_batch));
      continue;
    }
    const auto done = held.extract(action.micro_batch);
    require(!done.empty(), "pipeline: ", text_of(action), " comes before its forward pass");
    backward(stage, action.micro_batch, done.mapped());
  }
}

}  // namespace lockstep::pipeline
