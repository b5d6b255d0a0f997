#pragma once
// The fuzzed parsers of common/gpu/emulator, one function each; used by targets.cpp only.
#include "fuzz/targets.hpp"

namespace lockstep::fuzz {

void run_cuda_source(Input input);
std::vector<std::vector<std::byte>> cuda_source_seeds();

}  // namespace lockstep::fuzz
