#pragma once
/// @file
/// SentencePiece: pieces of words, learned from a text.
/// @source  Kudo and Richardson, "SentencePiece", EMNLP 2018; merging pairs: Sennrich et al., ACL 2016.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "data/tokenizer.hpp"

namespace lockstep::data {

/// The fewest pieces a tokenizer can be trained with: every byte, the unknown piece, the line feed, and one learned
/// piece.
inline constexpr std::int32_t kFewestPieces = 259;

/// Learns `pieces` pieces by merging the most frequent pairs (BPE). Every byte is a piece too, nothing is normalized,
/// and a line feed is always its own piece, so decode(encode(text)) is `text`, byte for byte.
/// @param text  At most its first 16 MiB are used; may hold any bytes.
/// @param name  Of the text, for messages.
/// @return      The model, as SentencePiece's own tools write it. Equal arguments give equal bytes on one machine.
/// @throws FormatError  `pieces` is too small for the text's characters, or larger than the text can yield; gives the
///                      limit.
[[nodiscard]] std::string train_sentence_piece(std::string_view text, std::int32_t pieces, const std::string& name);

/// The tokenizer of a model. Other authors' models work too; they may normalize, so that decode() returns a different
/// text.
/// @param model  The bytes of a .model file.
/// @param name   Of the file, for messages.
/// @throws FormatError  Not a SentencePiece model.
[[nodiscard]] std::shared_ptr<const Tokenizer> sentence_piece_tokenizer(std::string model, const std::string& name);

/// The same for a model stored with a checksum: no parser sees bytes that do not match it.
/// @param sha256  64 hexadecimal digits.
/// @throws FormatError  Another checksum; gives both.
[[nodiscard]] std::shared_ptr<const Tokenizer> sentence_piece_tokenizer(std::string model, const std::string& name,
                                                                        const std::string& sha256);

}  // namespace lockstep::data
