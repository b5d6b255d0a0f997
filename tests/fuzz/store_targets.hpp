#pragma once
// The fuzzed parsers of the stores; used by targets.cpp only.
#include "fuzz/net_targets.hpp"

namespace lockstep::fuzz {

void run_store_protocol(Input input);
Seeds store_protocol_seeds();
void run_file_log(Input input);
Seeds file_log_seeds();

}  // namespace lockstep::fuzz
