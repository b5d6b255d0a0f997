#pragma once
/// @file
/// What a run is told of a GPT and its text.
#include "data/corpus.hpp"
#include "nn/module.hpp"
#include "run/description.hpp"
#include "run/train_options.hpp"

namespace lockstep::run {

/// The summary of a run that trains a GPT: counts tokens, names model, text, optimization and the precision of
/// autograd::Autocast at this moment, and keeps the tokenizer and the fingerprint of the data with the run.
/// @param model   For the number of its parameters and its device.
[[nodiscard]] RunSummary summarize_text_run(const TrainOptions& options, const data::Corpus& corpus,
                                            const nn::Module& model);

}  // namespace lockstep::run
