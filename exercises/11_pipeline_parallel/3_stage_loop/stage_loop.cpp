#include "11_pipeline_parallel/3_stage_loop/stage_loop.hpp"

#include <map>
#include <utility>

#include "base/error.hpp"

namespace lockstep::pipeline {

void run_actions(std::span<const Action> actions, Stage& stage) {
  // TODO(11.3): keep what a backward pass needs, by micro-batch
  lockstep::todo("11.3 run_actions");
}

}  // namespace lockstep::pipeline
