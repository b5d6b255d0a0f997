#pragma once
// Walks over tokens of one stream: ordinary code, or one preprocessor directive. Not for others than this folder.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/translate/tokens.hpp"

namespace lockstep::translate {

using Stream = std::vector<Token>;

// The ordinary code of a source first, then each directive by itself: a macro's body never mixes with what surrounds
// it.
std::vector<Stream> split_streams(const std::vector<Token>& tokens);

// Throws FormatError: "file:line:column: error: message".
[[noreturn]] void fail_at(std::string_view source, std::string_view file, std::size_t offset,
                          const std::string& message);

bool is_word(const Stream& stream, std::size_t index, std::string_view text);
bool is_mark(const Stream& stream, std::size_t index, std::string_view text);

// Whether three tokens from `index` on are `mark` each, with nothing between them.
bool is_triple(const Stream& stream, std::size_t index, std::string_view mark);

// Index of the bracket that closes the one at `open` ("(", "[" or "{"); nothing if there is none within `limit` tokens.
std::optional<std::size_t> closing_of(const Stream& stream, std::size_t open, std::size_t limit = 10'000);

// Index of the bracket that opens the one at `close` (")" or "]"), not below `first`.
std::optional<std::size_t> opening_of(const Stream& stream, std::size_t close, std::size_t first);

// As closing_of() and opening_of(), for the angle brackets of template arguments, which parentheses may protect.
std::optional<std::size_t> closing_angle_of(const Stream& stream, std::size_t open);
std::optional<std::size_t> opening_angle_of(const Stream& stream, std::size_t close, std::size_t first);

// Where the body of `#define NAME(parameters) body` begins; 0 in ordinary code.
std::size_t body_begin(const Stream& stream);

// How many pieces commas make of [begin, end), those within brackets and template arguments not counted; 0 for nothing.
std::size_t count_pieces(const Stream& stream, std::size_t begin, std::size_t end);

// Source between two tokens as one line, white space and comments shortened.
std::string one_line(std::span<const Token> tokens);

}  // namespace lockstep::translate
