// checkpoint_victim ROOT STEP FAULT: saves a checkpoint whose elements are all STEP, and dies by SIGKILL right before
// the save step with number FAULT (from 0), if there are that many. Exit code 0 means that the save finished.
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.hpp"

using namespace lockstep;

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int step = std::atoi(argv[2]);
  int steps_left = std::atoi(argv[3]);
  const auto die_at_fault = [&steps_left](std::string_view /*name*/) {
    if (steps_left-- == 0) std::raise(SIGKILL);
  };
  checkpoint::CheckpointFolder folder(argv[1], {.keep_last = 1, .on_save_step = die_at_fault});
  const Tensor values = Tensor::empty({1000});
  for (float& value : values.span<float>()) value = static_cast<float>(step);
  folder.save(step, {.model = {{"values", values}}, .optimizer = {{"values.exp_avg", values}}}, {{"step", step}});
  return 0;
}
