// checkpoint_victim ROOT STEP FAULT MODE: saves a checkpoint whose elements are all STEP, and dies by SIGKILL right
// before the save step with number FAULT (from 0), if there are that many. MODE is blocking or background. Exit code 0
// means that the save finished.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "checkpoint/saver.hpp"

using namespace lockstep;

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int step = std::atoi(argv[2]);
  int steps_left = std::atoi(argv[3]);
  const auto die_at_fault = [&steps_left](std::string_view /*name*/) {
    if (steps_left-- == 0) std::raise(SIGKILL);
  };
  const auto mode =
      std::strcmp(argv[4], "background") == 0 ? checkpoint::SaveMode::kBackground : checkpoint::SaveMode::kBlocking;
  checkpoint::Saver saver(argv[1], {.keep_last = 1, .on_save_step = die_at_fault}, mode);
  const Tensor values = Tensor::empty({1000});
  for (float& value : values.span<float>()) value = static_cast<float>(step);
  saver.save(step, {.model = {{"values", values}}, .optimizer = {{"values.exp_avg", values}}}, {{"step", step}});
  saver.finish();
  return 0;
}
