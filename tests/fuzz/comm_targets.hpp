#pragma once
// The fuzzed parsers of the control plane and of joining; used by targets.cpp only.
#include "fuzz/net_targets.hpp"

namespace lockstep::fuzz {

void run_fingerprint(Input input);
Seeds fingerprint_seeds();
void run_control_wire(Input input);
Seeds control_wire_seeds();
void run_control_hub(Input input);
[[nodiscard]] Seeds control_hub_seeds();
void run_init_method(Input input);
Seeds init_method_seeds();

}  // namespace lockstep::fuzz
