#pragma once
// The fuzzed parsers, one function each; used by targets.cpp only.
#include "fuzz/targets.hpp"

namespace lockstep::fuzz {

using Seeds = std::vector<std::vector<std::byte>>;

void run_frame(Input input);
Seeds frame_seeds();
void run_frame_stream(Input input);
Seeds frame_stream_seeds();
void run_handshake(Input input);
Seeds handshake_seeds();
void run_token(Input input);
Seeds token_seeds();

}  // namespace lockstep::fuzz
