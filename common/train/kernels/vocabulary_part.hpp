#pragma once
/// @file
/// Which tokens a tensor is about, if ranks divide a vocabulary among themselves.
#include <cstdint>

namespace lockstep::kernels {

/// Consecutive tokens: the rows of a token table that a rank has, and the columns of its logits. Targets and token ids
/// are numbers in the whole vocabulary.
struct VocabularyPart {
  std::int64_t first = 0;  ///< The token of the tensor's first row or column.
  std::int64_t whole = 0;  ///< Tokens in the vocabulary; 0: the tensor is about all of them.
};

}  // namespace lockstep::kernels
