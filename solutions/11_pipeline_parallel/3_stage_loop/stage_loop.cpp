#include "11_pipeline_parallel/3_stage_loop/stage_loop.hpp"

#include <map>
#include <utility>

#include "base/error.hpp"

namespace lockstep::pipeline {

void run_actions(std::span<const Action> actions, Stage& stage) {
  // SOLUTION(11.3) run_actions: keep what a backward pass needs, by micro-batch
  struct Held {
    Variable input, output;
  };
  std::map<int, Held> held;
  for (const auto& [pass, number, micro_batch] : actions) {
    if (pass == Pass::kForward) {
      Held kept;
      if (!stage.is_first()) kept.input = Variable::parameter(stage.receive_input(micro_batch), "");
      kept.output = stage.forward(micro_batch, kept.input);
      if (!stage.is_last()) {
        stage.send_output(micro_batch, kept.output.value());
        kept.output = kept.output.without_value();
      }
      held.emplace(micro_batch, std::move(kept));
    } else {
      const auto kept = held.extract(micro_batch);
      require(!kept.empty(), "B", micro_batch, " comes before F", micro_batch);
      Tensor gradient = stage.is_last() ? Tensor() : stage.receive_gradient(micro_batch);
      stage.backward(micro_batch, kept.mapped().output, std::move(gradient));
      if (!stage.is_first()) stage.send_gradient(micro_batch, kept.mapped().input.gradient());
    }
  }
  // END SOLUTION
}

}  // namespace lockstep::pipeline
