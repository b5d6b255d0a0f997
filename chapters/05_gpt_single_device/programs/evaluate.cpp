// Measures how well a trained model predicts a text: `evaluate runs/2026-11-20-tiny-1 --text book.txt`.
#include <cmath>
#include <iomanip>
#include <iostream>
#include <numbers>

#include "05_gpt_single_device/perplexity.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "data/text.hpp"
#include "pretrained/language_model.hpp"
#include "run/option_checks.hpp"

using namespace lockstep;

namespace {

struct Options {
  std::filesystem::path model;
  std::filesystem::path text;  // empty: the course text's last tenth
  gpt::WindowOptions windows;
};

// The validation part of the course text, which no run trains on.
std::string read_text(const std::filesystem::path& file) {
  const std::string text = data::read_text(file);
  return file.empty() ? std::string(data::split_text(text, "course text").validation) : text;
}

void require_usable(const gpt::WindowOptions& options, std::int64_t context) {
  const std::int64_t length = options.length == 0 ? context : options.length;
  if (length < 2 || length > context)
    throw UsageError(concat("--window ", length, ": the model sees 2 to ", context, " tokens at once"));
  if (options.stride >= length)
    throw UsageError(concat("--stride ", options.stride, ": must be below the ", length, " tokens of a window, ",
                            "or the first token of each window would be left out"));
}

int evaluate(const Options& options) {
  const pretrained::LanguageModel loaded = pretrained::load_language_model(pretrained::find_model(options.model));
  require_usable(options.windows, loaded.model->config().context_length);
  const std::string text = read_text(options.text);
  const std::vector<std::int32_t> tokens = loaded.tokenizer->encode(text);
  if (tokens.size() < 2) throw FormatError(concat("the text has ", tokens.size(), " tokens; at least 2 are needed"));
  const gpt::TextLoss loss = gpt::text_loss(*loaded.model, tokens, options.windows);
  if (!std::isfinite(loss.sum))
    throw Error(concat("the loss is ", std::isnan(loss.sum) ? "not a number" : "infinite",
                       ": the model's weights are so large that its scores overflow"));
  const std::string predicted = loaded.tokenizer->decode(std::span(tokens).subspan(1));
  const double bits = loss.sum / std::numbers::ln2;
  std::cout << std::fixed << "text           " << text.size() << " bytes, " << tokens.size() << " tokens ("
            << loaded.tokenizer->description() << ")\n"
            << "loss           " << std::setprecision(4) << loss.mean() << " nats per token, over " << loss.token_count
            << " predicted tokens\n"
            << "perplexity     " << std::setprecision(3) << loss.perplexity() << "\n"
            << "bits per byte  " << std::setprecision(4) << bits / static_cast<double>(predicted.size()) << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Says how well a model predicts a text: its loss, perplexity and bits per byte.");
  Options options;
  const std::string help =
      "A run folder or a checkpoint (the latest run in runs/ if left out), or a "
      "folder of Hugging Face's GPT-2: config.json, model.safetensors, vocab.json "
      "and merges.txt, or tokenizer.json";
  app.add_option("folder", options.model, help).without_default();
  app.add_option("--model", options.model, "The same, by name").type_name("DIR").without_default();
  app.add_option("--text", options.text, "Text to predict (the last tenth of the course text if left out)")
      .check(readable_file())
      .type_name("FILE");
  app.add_option("--window", options.windows.length, "Tokens that the model sees at once (its context if left out)")
      .check(whole_number(2))
      .without_default();
  app.add_option("--stride", options.windows.stride,
                 "Tokens from one window to the next (half a window if left out): fewer give each token more context")
      .check(whole_number(1))
      .without_default();
  return run_main(app, argc, argv, [&] { return evaluate(options); });
}
