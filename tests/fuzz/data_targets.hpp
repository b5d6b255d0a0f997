#pragma once
// The fuzzed parsers of training data; used by targets.cpp only.
#include "fuzz/net_targets.hpp"

namespace lockstep::fuzz {

void run_token_file(Input input);
Seeds token_file_seeds();
void run_tokenizer_model(Input input);
Seeds tokenizer_model_seeds();
void run_tokenizer_text(Input input);
Seeds tokenizer_text_seeds();
void run_byte_pair_files(Input input);
Seeds byte_pair_files_seeds();

}  // namespace lockstep::fuzz
