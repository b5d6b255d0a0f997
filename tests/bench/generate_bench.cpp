// Measures how many tokens a second a GPT with random weights writes, with and without kept keys and values: the two
// take turns, and the best of each counts. A line of JSON per model. Not part of the test suite;
// tests/bench/generate.py.
//   OMP_NUM_THREADS=2 ./generate_bench MODEL TOKENS ROUNDS
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "05_gpt_single_device/text_generator.hpp"
#include "base/command_line.hpp"

using namespace lockstep;

namespace {

double seconds_for(const nn::Gpt& model, std::int64_t tokens, gpt::CacheUse cache) {
  const auto begin = std::chrono::steady_clock::now();
  (void)gpt::generate_tokens(model, {1, 2, 3}, {.token_count = tokens, .seed = 1, .cache = cache});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int run(const std::string& name, std::int64_t tokens, int rounds) {
  const nn::Gpt model(nn::GptConfig::named(name), 1);
  (void)seconds_for(model, 8, gpt::CacheUse::kAuto);  // warms up
  double whole = 1e30, cached = 1e30;
  for (int round = 0; round < rounds; ++round) {
    cached = std::min(cached, seconds_for(model, tokens, gpt::CacheUse::kAuto));
    whole = std::min(whole, seconds_for(model, tokens, gpt::CacheUse::kNever));
  }
  const auto rate = [tokens](double seconds) { return static_cast<double>(tokens) / seconds; };
  std::cout << R"({"model": ")" << name << R"(", "context": )" << model.config().context_length << R"(, "tokens": )"
            << tokens << R"(, "whole_tokens_per_second": )" << rate(whole) << R"(, "cached_tokens_per_second": )"
            << rate(cached) << R"(, "speedup": )" << whole / cached << "}\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: generate_bench MODEL TOKENS ROUNDS\n";
    return 2;
  }
  return run_guarded("generate_bench", [&] { return run(argv[1], std::atoll(argv[2]), std::atoi(argv[3])); });
}
