#pragma once
/// @file
/// Token and position embeddings. Common rules: kernels/ops.hpp.
#include "kernels/types.hpp"
#include "kernels/vocabulary_part.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// out[b, t] = token_table[tokens[b, t]] + position_table[t].
///
/// @param out             [B, T, C].
/// @param tokens          [B, T] int32.
/// @param token_table     [V, C].
/// @param position_table  [P, C] with P >= T, or undefined for none.
/// @param part            Which rows the table has, if not all of the vocabulary: the others count as zeros.
/// @throws ContractError  A token is not in the vocabulary; names it and its position.
void embedding_forward(const Tensor& out, const Tensor& tokens, const Tensor& token_table, const Tensor& position_table,
                       const VocabularyPart& part = {});

/// token_gradient[v] = sum of out_gradient[b, t] over all tokens[b, t] equal to v, added in the order of (b, t). Rows
/// of tokens that do not occur become 0 with kOverwrite and stay with kAdd.
///
/// @param token_gradient  [V, C].
/// @param out_gradient    [B, T, C].
/// @param tokens          [B, T] int32.
/// @param part            As in embedding_forward().
void embedding_token_gradient(const Tensor& token_gradient, Write write, const Tensor& out_gradient,
                              const Tensor& tokens, const VocabularyPart& part = {});

/// position_gradient[t] = sum over b of out_gradient[b, t]; rows from T on become 0 with kOverwrite.
///
/// @param position_gradient  [P, C] with P >= T.
/// @param out_gradient       [B, T, C].
void embedding_position_gradient(const Tensor& position_gradient, Write write, const Tensor& out_gradient);

}  // namespace lockstep::kernels
