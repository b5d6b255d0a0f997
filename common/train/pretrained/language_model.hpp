#pragma once
/// @file
/// A trained model and its tokenizer, from wherever they were saved: a run folder of ours, or a folder as Hugging Face
/// publishes GPT-2.
#include <filesystem>
#include <memory>
#include <string>

#include "data/tokenizer.hpp"
#include "nn/gpt.hpp"

namespace lockstep::pretrained {

/// Ready to read and write text.
struct LanguageModel {
  std::unique_ptr<nn::Gpt> model;                    ///< In float32.
  std::shared_ptr<const data::Tokenizer> tokenizer;  ///< Which it was trained with.
  std::string prompt;                                ///< How a text may begin where nobody says.
};

/// The model that a program is to use.
/// @param named  What the user has named; empty: the run in the folder `runs` that has saved last.
/// @throws UsageError  Nothing is named, and there is no such run.
[[nodiscard]] std::filesystem::path find_model(const std::filesystem::path& named);

/// Whether `folder` has a config.json, and so is read as Hugging Face's.
[[nodiscard]] bool is_hugging_face_folder(const std::filesystem::path& folder);

/// Loads a model.
/// @param path    A run folder or a checkpoint of train_gpt_*; or a folder with config.json, model.safetensors (or
///                shards with their index), vocab.json and merges.txt or tokenizer.json.
/// @param device  Where the parameters go.
/// @throws IoError, FormatError  A file is missing, or not what it should be: names it. A weight is not finite, as
/// those
///                               of a training that has diverged: names the tensor.
/// @cost  Reads the weights once; a run folder's newest checkpoint twice, for its checksums.
[[nodiscard]] LanguageModel load_language_model(const std::filesystem::path& path, Device device = {});

}  // namespace lockstep::pretrained
