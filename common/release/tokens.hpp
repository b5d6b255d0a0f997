#pragma once
/// @file
/// C++ source as tokens: what two texts have in common whatever their layout and comments.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::release {

/// A name, number, string or sign.
struct Token {
  std::string text;      ///< As written; a string with its quotes.
  std::size_t line = 1;  ///< Where it begins, counted from 1.
};

/// The tokens of C++, CUDA, or of any text: comments and white space are dropped, and what C++ does not know is one
/// token per character. Signs of two characters (`::`, `+=`, `->`) are one token. Linear in the text's length.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text);

}  // namespace lockstep::release
