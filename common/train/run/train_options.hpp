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

struct ModelOptions {
  std::string name = "tiny";              ///< One of nn::GptConfig::names().
  double dropout = 0.0;                   ///< Probability; 0: none.
  bool bf16 = false;                      ///< Activations and matrix products in bfloat16.
  bool activation_checkpointing = false;  ///< Recomputes blocks in backward instead of keeping their activations.

  /// The named model's sizes, with dropout. @param vocabulary_size  0: that of the named model.
  [[nodiscard]] nn::GptConfig config(std::int64_t vocabulary_size) const;
};

/// The data, and how it becomes tokens.
struct DataOptions {
  std::filesystem::path path;             ///< Empty: the course text; data::kRandomData: random tokens.
  std::filesystem::path validation_path;  ///< Empty: the last tenth of the data.
  std::string tokenizer;                  ///< For data::parse_tokenizer_spec(). After parsing never empty.
  std::int64_t vocabulary_size = 0;       ///< 0: the model's, or the tokenizer's if that is larger.
  std::string windows = "fixed";          ///< "fixed" or "random": how samples are cut from the text.
  int num_workers = 1;                    ///< Threads that prepare batches.
  std::string tokenizer_checksum;         ///< Recorded by a run: SHA-256 of its tokenizer.model; empty: none.
  std::string fingerprint;                ///< Recorded by a run: identifies its data.
};

/// The text that the trained model generates at the end.
struct TextOptions {
  std::string prompt = "The ";       ///< Beginning of the generated text.
  std::int64_t sample_tokens = 300;  ///< Length of the generated text; 0: none.
};

/// The options of a program that trains a GPT. option_list.cpp declares the members' names on the command line and in
/// options.json.
struct TrainOptions : RunOptions {
  DataOptions data;
  ModelOptions model;
  TextOptions text;
};

/// All options but --resume, in the order of --help. @param options  Must outlive the result.
[[nodiscard]] OptionList list_options(TrainOptions& options);

/// As complete() of RunOptions; also chooses batch size and tokenizer if they were left out.
/// @throws UsageError, UnavailableError  As complete() of RunOptions.
void complete(TrainOptions& options, const CommandLine& line);

/// As run_training() of option_parser.hpp, for programs that train a GPT.
/// @return  The exit status for main().
[[nodiscard]] int run_training(int argc, const char* const* argv,
                               const std::function<int(const TrainOptions&)>& train) noexcept;
/// The same with other defaults.
/// @param defaults  Used if the command line does not set an option. A launcher may choose another device
///                  (LOCKSTEP_DEVICE).
[[nodiscard]] int run_training(int argc, const char* const* argv, TrainOptions defaults,
                               const std::function<int(const TrainOptions&)>& train) noexcept;

/// The device that a launcher chose for programs without --device (LOCKSTEP_DEVICE), or `otherwise`.
[[nodiscard]] std::string launched_device(std::string otherwise);

/// @throws FormatError  Not written by to_json().
[[nodiscard]] TrainOptions options_from_json(const nlohmann::json& json);

}  // namespace lockstep::run
