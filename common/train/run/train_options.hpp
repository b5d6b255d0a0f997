#pragma once
/// @file
/// The options that all train_gpt_* programs share.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nn/gpt.hpp"
#include "run/option_list.hpp"
#include "run/option_parser.hpp"
#include "run/run_options.hpp"

namespace lockstep::run {

/// Which model, and how it computes.
struct ModelOptions {
  std::string name = "tiny";              ///< Of a configuration: one of nn::GptConfig::names().
  double dropout = 0.0;                   ///< Probability; 0: none.
  bool bf16 = false;                      ///< Activations and matrix products in bfloat16.
  bool activation_checkpointing = false;  ///< Blocks are computed again in backward instead of kept.
};

/// What is read, and how it becomes tokens.
struct DataOptions {
  std::filesystem::path path;             ///< Empty: the course text; data::kRandomData: random tokens.
  std::filesystem::path validation_path;  ///< Empty: the last tenth of the data.
  std::string tokenizer;                  ///< As data::parse_tokenizer_spec() reads it. After parsing never empty.
  std::int64_t vocabulary_size = 0;       ///< 0: the model's own, or more where the tokenizer has more.
  std::string windows = "fixed";          ///< "fixed" or "random": which stretches of the text are samples.
  int num_workers = 1;                    ///< Threads that prepare batches.
  std::string tokenizer_checksum;         ///< Recorded by a run: SHA-256 of its tokenizer.model; empty: it has none.
  std::string fingerprint;                ///< Recorded by a run: what its data were.
};

/// What a trained model writes at the end.
struct TextOptions {
  std::string prompt = "The ";       ///< What the generated text begins with.
  std::int64_t sample_tokens = 300;  ///< Length of the generated text; 0: none.
};

/// What a program that trains a GPT was asked to do. What each member is called on the command line and in options.json
/// is declared in option_list.cpp and train_option_list.cpp, once.
struct TrainOptions : RunOptions {
  DataOptions data;    ///< What is read.
  ModelOptions model;  ///< What is trained.
  TextOptions text;    ///< What it writes.

  /// The model's sizes, with dropout.
  /// @param vocabulary  0: data.vocabulary_size, or that of the named model.
  [[nodiscard]] nn::GptConfig model_config(std::int64_t vocabulary = 0) const;
};

/// All options but --resume, in the order of --help. @param options  Outlives what is returned.
[[nodiscard]] OptionList list_options(TrainOptions& options);

/// As complete() of RunOptions; besides chooses batch size and tokenizer where they were left out.
/// @throws UsageError, UnavailableError  As that.
void complete(TrainOptions& options, const CommandLine& line);

/// What a command line means.
using ParsedTrainOptions = ParsedOptions<TrainOptions>;

/// As parse_options(), for the programs that train a GPT.
[[nodiscard]] ParsedTrainOptions parse_train_options(int argc, const char* const* argv);

/// As run_training() of option_parser.hpp, for the programs that train a GPT.
/// @return  The exit status for main().
[[nodiscard]] int run_training(int argc, const char* const* argv,
                               const std::function<int(const TrainOptions&)>& train) noexcept;
/// The same for a program with defaults of its own. @param defaults  The options where the command line says nothing.
[[nodiscard]] int run_training(int argc, const char* const* argv, const TrainOptions& defaults,
                               const std::function<int(const TrainOptions&)>& train) noexcept;

/// @throws FormatError  Not what to_json() writes.
[[nodiscard]] TrainOptions options_from_json(const nlohmann::json& json);

}  // namespace lockstep::run
