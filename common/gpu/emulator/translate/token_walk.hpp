#pragma once
// Navigates the tokens of one stream: ordinary code, or one preprocessor directive. Internal to this folder.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/translate/tokens.hpp"

namespace lockstep::translate {

using Stream = std::vector<Token>;

// The ordinary code of a source first, then each directive separately: a macro's body never mixes with the code around
// it.
std::vector<Stream> split_streams(const std::vector<Token>& tokens);

// Throws FormatError: "file:line:column: error: message".
[[noreturn]] void fail_at(std::string_view source, std::string_view file, std::size_t offset,
                          const std::string& message);

bool is_word(const Stream& stream, std::size_t index, std::string_view text);
bool is_mark(const Stream& stream, std::size_t index, std::string_view text);

// True if the three tokens from `index` on are all `mark`, with nothing between them.
bool is_triple(const Stream& stream, std::size_t index, std::string_view mark);

// Index of the bracket that closes the one at `open` ("(", "[" or "{"); nothing if there is none within `limit` tokens.
std::optional<std::size_t> closing_of(const Stream& stream, std::size_t open, std::size_t limit = 10'000);

// Index of the bracket that opens the one at `close` (")" or "]"), not below `first`.
std::optional<std::size_t> opening_of(const Stream& stream, std::size_t close, std::size_t first);

// As closing_of() and opening_of(), for the angle brackets of template arguments; skips over parentheses.
std::optional<std::size_t> closing_angle_of(const Stream& stream, std::size_t open);
std::optional<std::size_t> opening_angle_of(const Stream& stream, std::size_t close, std::size_t first);

// Start of the body of `#define NAME(parameters) body`; 0 in ordinary code.
std::size_t body_begin(const Stream& stream);

// Number of pieces in [begin, end) separated by commas outside brackets and template arguments; 0 if empty.
std::size_t count_pieces(const Stream& stream, std::size_t begin, std::size_t end);

// The source between two tokens as one line, with white space and comments shortened.
std::string one_line(std::span<const Token> tokens);

}  // namespace lockstep::translate
