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

/// The fewest pieces a tokenizer can be trained with: every byte, the unknown piece, the line feed, and one to learn.
inline constexpr std::int32_t kFewestPieces = 259;

/// Learns `pieces` pieces by merging the most frequent pairs (BPE). Every byte is a piece too, nothing is normalized,
/// and a line feed stands alone: encode() and decode() give any text back, byte for byte.
/// @param text  Of which at most the first 16 MiB are read; may hold any bytes.
/// @param name  What messages call the text.
/// @return      The model, as SentencePiece's own tools write it. Equal arguments give equal bytes on one machine.
/// @throws FormatError  Too few pieces to hold the text's characters, or more than it can yield; names the number.
[[nodiscard]] std::string train_sentence_piece(std::string_view text, std::int32_t pieces, const std::string& name);

/// The tokenizer of a model. Models of others work too; theirs may normalize, so that decode() gives another text back.
/// @param model  The bytes of a .model file.
/// @param name   What messages call the file.
/// @throws FormatError  Not a SentencePiece model.
[[nodiscard]] std::shared_ptr<const Tokenizer> sentence_piece_tokenizer(std::string model, const std::string& name);

/// As above, for a model that was stored with a checksum: bytes that do not match it reach no parser.
/// @param sha256  64 hexadecimal digits.
/// @throws FormatError  Another checksum; gives both.
[[nodiscard]] std::shared_ptr<const Tokenizer> sentence_piece_tokenizer(std::string model, const std::string& name,
                                                                        const std::string& sha256);

}  // namespace lockstep::data
