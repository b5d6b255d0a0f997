#pragma once
/// @file
/// Checks a SentencePiece model before SentencePiece reads it.
#include <string>
#include <string_view>

namespace lockstep::data {

/// Checks the bytes of a .model file. SentencePiece (0.1.97) trusts its input: an empty piece ends the process, and a
/// table of normalizations may point outside itself. So this checks each field that SentencePiece uses.
/// @param name  Of the file, for messages.
/// @throws FormatError  Not a well-formed ModelProto, or one that would break SentencePiece; says what is wrong.
/// @source  google/sentencepiece, src/sentencepiece_model.proto (field numbers) and src/normalizer.cc (the table);
///          "Encoding" in the documentation of Protocol Buffers; s-yata/darts-clone, include/darts.h (units).
void check_sentence_piece_model(std::string_view model, const std::string& name);

}  // namespace lockstep::data
