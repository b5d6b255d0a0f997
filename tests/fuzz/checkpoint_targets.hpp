#pragma once
// The fuzzed parsers of checkpoints; used by targets.cpp only.
#include "fuzz/net_targets.hpp"

namespace lockstep::fuzz {

void run_safetensors(Input input);
Seeds safetensors_seeds();
void run_manifest(Input input);
Seeds manifest_seeds();
void run_saved_state(Input input);
Seeds saved_state_seeds();

}  // namespace lockstep::fuzz
