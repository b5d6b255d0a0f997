#pragma once
/// @file
/// Weights of a GPT-2 as Hugging Face publishes them, into our model.
///
/// The names are our model's; files may have more or less around them:
/// - "transformer." before each name: files of GPT2LMHeadModel have it, the first published ones (of GPT2Model) do not.
/// - "h.N.attn.bias" and "h.N.attn.masked_bias": the causal mask and its value, which older versions saved with the
///   weights (as float32, uint8 or bool). They are no weights, and are not read.
/// - "lm_head.weight": the head, which is the token table once more. It may be there or not; another one is refused.
/// - float16, bfloat16 or float32 elements, in one file or in shards.
#include "checkpoint/tensor_files.hpp"
#include "nn/gpt.hpp"

namespace lockstep::pretrained {

/// Checks that load_gpt2_weights() would succeed for a model of these sizes, before one is made.
/// @throws FormatError  Tensors are missing, or there that no GPT-2 has (all listed); another shape or type; a head
///                      that differs from the token table.
/// @cost  Reads the token table and the head, where both are in the files.
void require_gpt2_weights(const checkpoint::TensorFiles& files, const nn::GptConfig& config);

/// Fills a model. Nothing is written unless everything fits.
/// @param model  float32 (or float64), on any device.
/// @throws FormatError  As require_gpt2_weights().
void load_gpt2_weights(const checkpoint::TensorFiles& files, nn::Gpt& model);

}  // namespace lockstep::pretrained
