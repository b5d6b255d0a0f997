#pragma once
/// @file
/// A trained model and its tokenizer, from one of our run folders or from a folder in Hugging Face's format for GPT-2.
#include <filesystem>
#include <memory>
#include <string>

#include "data/tokenizer.hpp"
#include "nn/gpt.hpp"

namespace lockstep::pretrained {

/// A loaded model and its tokenizer.
struct LanguageModel {
  std::unique_ptr<nn::Gpt> model;                    ///< In float32.
  std::shared_ptr<const data::Tokenizer> tokenizer;  ///< The one it was trained with.
  std::string prompt;                                ///< Default beginning of a text.
};

/// Finds the model that a program should use.
/// @param named  The user's choice; empty: the run in the folder `runs` that saved last.
/// @throws UsageError  `named` is empty, and there is no such run.
[[nodiscard]] std::filesystem::path find_model(const std::filesystem::path& named);

/// Whether `folder` has a config.json, and is therefore read in Hugging Face's format.
[[nodiscard]] bool is_hugging_face_folder(const std::filesystem::path& folder);

/// Loads a model.
/// @param path    A run folder or a checkpoint of train_gpt_*; or a folder with config.json, model.safetensors (or
///                shards with their index), vocab.json and merges.txt or tokenizer.json.
/// @throws IoError, FormatError  A file is missing or malformed: names it. A weight is not finite, as after a diverged
/// training run: names the tensor.
/// @cost  Reads the weights once; a run folder's newest checkpoint twice, for its checksums.
[[nodiscard]] LanguageModel load_language_model(const std::filesystem::path& path, Device device = {});

}  // namespace lockstep::pretrained
