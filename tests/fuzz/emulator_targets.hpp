#pragma once
// The fuzzed parsers of common/gpu/emulator, one function each; not for others than targets.cpp.
#include "fuzz/targets.hpp"

namespace lockstep::fuzz {

void run_cuda_source(Input input);
std::vector<std::vector<std::byte>> cuda_source_seeds();

}  // namespace lockstep::fuzz
