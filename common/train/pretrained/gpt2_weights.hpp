#pragma once
/// @file
/// Weights of a GPT-2 as Hugging Face publishes them, into our model.
///
/// The names are our model's; files may have more or less around them:
/// - "transformer." before each name: files of GPT2LMHeadModel have it, the first published ones (of GPT2Model) do not.
/// - "module." and "_orig_mod." before that: DistributedDataParallel and torch.compile() add them.
/// - "h.N.attn.bias" and "h.N.attn.masked_bias": the causal mask and its value, which older versions saved with the
///   weights (as float32, uint8, bool or any other type). They are no weights, and are not read.
/// - "lm_head.weight": the head, which is the token table once more. It may be there or not; another one is refused.
/// - float16, bfloat16 or float32 elements, in one file or in shards.
#include "checkpoint/tensor_files.hpp"
#include "nn/gpt.hpp"

namespace lockstep::pretrained {

/// What computes the scores of the next token.
enum class Head {
  kTied,  ///< The token table; lm_head.weight may be left out.
  kOwn    ///< lm_head.weight, which must be there.
};

/// Checks that load_gpt2_weights() would succeed for a model of these sizes, before one is made.
/// @param head  Whether config.json says that the head is the token table.
/// @throws FormatError  Tensors are missing, or there that no GPT-2 has (all listed); another shape or type; matrices
///                      that are transposed; a head that differs from the token table, or is missing if it is not tied.
/// @cost  Reads the token table and the head, where both are in the files.
void require_gpt2_weights(const checkpoint::TensorFiles& files, const nn::GptConfig& config, Head head = Head::kTied);

/// Fills a model. Nothing is written unless everything fits.
/// @param model  float32 (or float64), on any device.
/// @throws FormatError  As require_gpt2_weights().
void load_gpt2_weights(const checkpoint::TensorFiles& files, nn::Gpt& model);

}  // namespace lockstep::pretrained
