#pragma once
/// @file
/// Describes a GPT and its text for a run.
#include "data/corpus.hpp"
#include "nn/module.hpp"
#include "run/description.hpp"
#include "run/train_options.hpp"

namespace lockstep::run {

/// The summary of a run that trains a GPT: counts tokens, names model, text, optimization and the current precision of
/// autograd::Autocast, and stores the tokenizer and the fingerprint of the data with the run.
/// @param model   For its device and number of parameters.
[[nodiscard]] RunSummary summarize_text_run(const TrainOptions& options, const data::Corpus& corpus,
                                            const nn::Module& model);

}  // namespace lockstep::run
