#pragma once
/// @file
/// What a SentencePiece model must be before SentencePiece reads it.
#include <string>
#include <string_view>

namespace lockstep::data {

/// Goes through the bytes of a .model file. SentencePiece (0.1.97) takes much for granted: a piece that is empty ends
/// the process, and a table of normalizations may point outside of itself. So each field that it acts on is checked
/// here.
/// @param name  What messages call the file.
/// @throws FormatError  Not a well-formed ModelProto, or one that SentencePiece could not bear; says what is wrong.
/// @source  google/sentencepiece, src/sentencepiece_model.proto (field numbers) and src/normalizer.cc (the table);
///          "Encoding" in the documentation of Protocol Buffers; s-yata/darts-clone, include/darts.h (units).
void check_sentence_piece_model(std::string_view model, const std::string& name);

}  // namespace lockstep::data
