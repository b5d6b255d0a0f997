#pragma once
/// @file
/// Splits any text into tokens of C++, to compare texts regardless of layout and comments.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::release {

/// A name, number, string or operator.
struct Token {
  std::string text;      ///< As written; a string with its quotes.
  std::size_t line = 1;  ///< First line, counted from 1.
};

/// Tokens found by translate::split_tokens() in each line separately, so that a "/*" in prose does not hide the next
/// line. Comments are dropped; a comment of several lines counts as code. Linear in the text's length.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text);

}  // namespace lockstep::release
