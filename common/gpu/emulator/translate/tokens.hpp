#pragma once
/// @file
/// C++ and CUDA source as tokens: enough of the language's lexical rules to tell code from comments, strings, raw
/// strings, character literals, digit separators and preprocessor directives.
///
/// Every piece of text has tokens: nothing is refused here, since the compiler says more about broken source.
#include <cstddef>
#include <string_view>
#include <vector>

namespace lockstep::translate {

/// What a token is.
enum class TokenKind {
  kIdentifier,   ///< Keywords included.
  kNumber,       ///< With its suffix and digit separators.
  kLiteral,      ///< A string, raw string or character, with prefix and quotes.
  kHeaderName,   ///< What an #include names, with its quotes or angle brackets.
  kPunctuation,  ///< One character, except "::" and "->".
};

/// A piece of the source; comments and white space are between tokens.
struct Token {
  TokenKind kind = TokenKind::kPunctuation;  ///< What it is.
  std::string_view text;                     ///< A part of the source that was split.
  std::size_t begin = 0;                     ///< Offset in the source.
  std::size_t directive = 0;  ///< 0 in ordinary code, else the number of the preprocessor directive that it is part of.

  [[nodiscard]] std::size_t end() const noexcept { return begin + text.size(); }  ///< Offset past it.
};

/// The tokens of `source`, in order. They refer to it, so it must outlive them.
/// @cost  Linear in the length of the source.
[[nodiscard]] std::vector<Token> split_tokens(std::string_view source);

/// Where something is, as people and compilers count: from 1.
struct LineColumn {
  std::size_t line = 1;    ///< Of the file.
  std::size_t column = 1;  ///< Of the line, in bytes.
};

/// Line and column of `offset` in `source`.
[[nodiscard]] LineColumn line_column(std::string_view source, std::size_t offset);

}  // namespace lockstep::translate
