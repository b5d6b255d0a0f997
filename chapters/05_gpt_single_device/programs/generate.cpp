// Generates text with a trained model: `generate runs/2026-11-20-tiny-1 --prompt "The "`.
#include <unistd.h>

#include <iostream>
#include <optional>

#include "05_gpt_single_device/text_generator.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/utf8.hpp"
#include "pretrained/language_model.hpp"
#include "run/option_checks.hpp"

using namespace lockstep;

namespace {

struct Options {
  std::filesystem::path model;
  std::optional<std::string> prompt;
  bool no_cache = false;
  gpt::SampleOptions sample;
};

int generate(Options options) {
  const pretrained::LanguageModel loaded = pretrained::load_language_model(pretrained::find_model(options.model));
  if (options.no_cache) options.sample.cache = gpt::CacheUse::kNever;
  const std::string prompt = options.prompt.value_or(loaded.prompt);
  const std::string text = gpt::generate_text(*loaded.model, *loaded.tokenizer, prompt, options.sample);
  // A file gets the bytes as drawn; a terminal would interpret some of them.
  std::cout << (::isatty(STDOUT_FILENO) == 1 ? printable(text) : text) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Continues a text with GPT-2, or with the model of any run of this course's train_gpt_... programs.");
  Options options;
  auto& sample = options.sample;
  const std::string help =
      "A run folder or a checkpoint (the latest run in runs/ if left out), or a "
      "folder of Hugging Face's GPT-2: config.json, model.safetensors, vocab.json "
      "and merges.txt, or tokenizer.json";
  app.add_option("folder", options.model, help).without_default();
  app.add_option("--model", options.model, "The same, by name").type_name("DIR").without_default();
  app.add_option("--prompt", options.prompt,
                 "How the text begins (if left out: as the run's own sample, or a new document of GPT-2)");
  app.add_option("--tokens", sample.token_count, "How many tokens to write, at most")
      .check(whole_number(1));
  app.add_option("--temperature", sample.temperature, "0 always takes the likeliest token, 1 draws as predicted")
      .check(real_number(0));
  app.add_option("--top-k", sample.top_k, "Draw only from the k likeliest tokens; 0 allows all")
      .check(whole_number(0, 1'000'000));
  app.add_option("--top-p", sample.top_p,
                 "Draw only from the fewest likeliest tokens that have this probability together; 1 allows all")
      .check(real_number(0.000001, 1));
  app.add_option("--seed", sample.seed, "Seed of the draws: the same one gives the same text").check(whole_number(0));
  app.add_flag("--ignore-eos", sample.ignores_end,
               "Write on where the model ends its text (EOS; GPT-2's is <|endoftext|>)");
  app.add_flag("--no-cache", options.no_cache,
               "Compute the whole text anew for each token instead of keeping keys and values: slower, same text");
  return run_main(app, argc, argv, [&] { return generate(options); });
}
