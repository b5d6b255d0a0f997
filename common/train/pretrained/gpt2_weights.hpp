#pragma once
/// @file
/// Loads GPT-2 weights as published by Hugging Face into our model.
///
/// The names are our model's, with these differences:
/// - "transformer." before each name: in files of GPT2LMHeadModel, but not in the first published ones (of GPT2Model).
/// - "module." and "_orig_mod." before that: DistributedDataParallel and torch.compile() add them.
/// - "h.N.attn.bias" and "h.N.attn.masked_bias": the causal mask and its value, which older versions saved with the
///   weights (as float32, uint8, bool or any other type). They are not read.
/// - "lm_head.weight": the head, a copy of the token table. It may be missing; one that differs is refused.
/// - float16, bfloat16 or float32 elements, in one file or in shards.
#include "checkpoint/tensor_files.hpp"
#include "nn/gpt.hpp"

namespace lockstep::pretrained {

/// The matrix that computes the scores of the next token.
enum class Head {
  kTied,  ///< The token table; lm_head.weight may be missing.
  kOwn    ///< lm_head.weight, which must exist.
};

/// Checks that load_gpt2_weights() would succeed for a model of these sizes, before it is made.
/// @param head  Whether config.json says that the head is the token table.
/// @throws FormatError  Missing tensors, or tensors that no GPT-2 has (all listed); another shape or type; transposed
///                      matrices; a head that differs from the token table, or is missing if it is not tied.
/// @cost  Reads the token table and the head, if the files have both.
void require_gpt2_weights(const checkpoint::TensorFiles& files, const nn::GptConfig& config, Head head = Head::kTied);

/// Fills a model. Nothing is written unless everything fits.
/// @param model  float32 (or float64), on any device.
/// @throws FormatError  As require_gpt2_weights().
void load_gpt2_weights(const checkpoint::TensorFiles& files, nn::Gpt& model);

}  // namespace lockstep::pretrained
