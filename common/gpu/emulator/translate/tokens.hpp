#pragma once
/// @file
/// C++ and CUDA source as tokens: enough of the language's lexical rules to distinguish code from comments, strings,
/// raw strings, character literals, digit separators and preprocessor directives.
///
/// Every text can be split: nothing is rejected here, because the compiler gives better errors for broken source.
#include <cstddef>
#include <string_view>
#include <vector>

namespace lockstep::translate {

enum class TokenKind {
  kIdentifier,   ///< Keywords included.
  kNumber,       ///< With its suffix and digit separators.
  kLiteral,      ///< A string, raw string or character, with prefix and quotes.
  kHeaderName,   ///< The name in an #include, with its quotes or angle brackets.
  kPunctuation,  ///< One character, except "::" and "->".
};

/// A piece of the source; comments and white space are between tokens.
struct Token {
  TokenKind kind = TokenKind::kPunctuation;
  std::string_view text;      ///< A part of the source.
  std::size_t begin = 0;      ///< Offset in the source.
  std::size_t directive = 0;  ///< 0 in ordinary code, else the number of its preprocessor directive.

  [[nodiscard]] std::size_t end() const noexcept { return begin + text.size(); }  ///< Offset past it.
};

/// The tokens of `source`, in order. They refer to `source`, which must outlive them.
/// @cost  Linear in the length of the source.
[[nodiscard]] std::vector<Token> split_tokens(std::string_view source);

/// A position for messages: counts from 1.
struct LineColumn {
  std::size_t line = 1;
  std::size_t column = 1;  ///< In bytes.
};

[[nodiscard]] LineColumn line_column(std::string_view source, std::size_t offset);

}  // namespace lockstep::translate
