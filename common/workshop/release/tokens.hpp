#pragma once
/// @file
/// Any text as tokens of C++: what two texts have in common whatever their layout and comments.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::release {

/// A name, number, string or sign.
struct Token {
  std::string text;      ///< As written; a string with its quotes.
  std::size_t line = 1;  ///< Where it begins, counted from 1.
};

/// The tokens that translate::split_tokens() finds in each line by itself, so that a "/*" in prose hides nothing of the
/// next line. Comments are dropped; a comment of several lines counts as code. Linear in the text's length.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text);

}  // namespace lockstep::release
