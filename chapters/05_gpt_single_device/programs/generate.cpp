// Lets a trained model write: `generate runs/2026-11-20-tiny-1 --prompt "The "`.
#include <iostream>
#include <nlohmann/json.hpp>

#include "05_gpt_single_device/text_generator.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "run/load_corpus.hpp"
#include "run/option_checks.hpp"
#include "run/run_folder.hpp"
#include "run/train_options.hpp"
#include "run/training_state.hpp"

using namespace lockstep;

namespace {

// The folder given, or the run that has saved last.
std::filesystem::path find_model(const std::string& folder) {
  if (!folder.empty()) return folder;
  const std::optional<std::filesystem::path> latest = run::latest_run("runs");
  if (!latest) throw UsageError("no trained model in runs: name a run's folder, or train one first");
  return *latest;
}

int generate(const std::string& folder, const std::optional<std::string>& prompt, const gpt::SampleOptions& options) {
  const std::filesystem::path path = find_model(folder);
  const run::TrainOptions trained = run::options_from_json(run::load_options(path));
  nn::Gpt model(trained.model_config(), trained.seed);
  run::load_model(path, model);
  const auto tokenizer = run::load_tokenizer(path, trained);
  std::cout << gpt::generate_text(model, *tokenizer, prompt.value_or(trained.output.prompt), options) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Continues a text with a model that train_gpt_single or train_gpt_ddp has trained.");
  std::string folder;
  std::optional<std::string> prompt;
  gpt::SampleOptions options;
  app.add_option("folder", folder, "A run folder or a checkpoint (the latest run in runs/ if left out)");
  app.add_option("--prompt", prompt, "How the text begins (as the run's own sample if left out)");
  app.add_option("--tokens", options.token_count, "How many tokens to write")
      .check(whole_number(1));
  app.add_option("--temperature", options.temperature, "0 always takes the likeliest token, 1 draws as predicted")
      .check(real_number(0));
  app.add_option("--top-k", options.top_k, "Draw only from the k likeliest tokens; 0 allows all")
      .check(whole_number(0, 1'000'000));
  app.add_option("--seed", options.seed, "Seed of the draws").check(whole_number(0));
  return run_main(app, argc, argv, [&] { return generate(folder, prompt, options); });
}
