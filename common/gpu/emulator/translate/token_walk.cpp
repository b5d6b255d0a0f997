#include "emulator/translate/token_walk.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::translate {
namespace {

constexpr std::size_t kFarthestBack = 2000;  // tokens: farther ones cannot belong to an expression

bool opens(std::string_view text) { return text == "(" || text == "[" || text == "{"; }
bool closes(std::string_view text) { return text == ")" || text == "]" || text == "}"; }

}  // namespace

std::vector<Stream> split_streams(const std::vector<Token>& tokens) {
  std::vector<Stream> streams(1);
  std::size_t directive = 0;
  for (const Token& token : tokens) {
    if (token.directive != 0 && token.directive != directive) {
      directive = token.directive;
      streams.emplace_back();
    }
    (token.directive == 0 ? streams.front() : streams.back()).push_back(token);
  }
  return streams;
}

void fail_at(std::string_view source, std::string_view file, std::size_t offset, const std::string& message) {
  const LineColumn place = line_column(source, offset);
  throw FormatError(concat(file, ":", place.line, ":", place.column, ": error: ", message));
}

bool is_word(const Stream& stream, std::size_t index, std::string_view text) {
  return index < stream.size() && stream[index].kind == TokenKind::kIdentifier && stream[index].text == text;
}

bool is_mark(const Stream& stream, std::size_t index, std::string_view text) {
  return index < stream.size() && stream[index].kind == TokenKind::kPunctuation && stream[index].text == text;
}

bool is_triple(const Stream& stream, std::size_t index, std::string_view mark) {
  return is_mark(stream, index, mark) && is_mark(stream, index + 1, mark) && is_mark(stream, index + 2, mark) &&
         stream[index].end() == stream[index + 1].begin && stream[index + 1].end() == stream[index + 2].begin;
}

std::optional<std::size_t> closing_of(const Stream& stream, std::size_t open, std::size_t limit) {
  const std::size_t end = std::min(stream.size(), open + limit);
  std::size_t depth = 0;
  for (std::size_t i = open; i < end; ++i) {
    if (stream[i].kind != TokenKind::kPunctuation) continue;
    if (opens(stream[i].text)) ++depth;
    if (closes(stream[i].text) && --depth == 0) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> opening_of(const Stream& stream, std::size_t close, std::size_t first) {
  std::size_t depth = 0;
  for (std::size_t i = close + 1; i-- > first && close - i < kFarthestBack;) {
    if (stream[i].kind != TokenKind::kPunctuation) continue;
    if (closes(stream[i].text)) ++depth;
    if (opens(stream[i].text) && --depth == 0) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> closing_angle_of(const Stream& stream, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < stream.size() && i - open < kFarthestBack; ++i) {
    if (stream[i].kind != TokenKind::kPunctuation) continue;
    const std::string_view text = stream[i].text;
    if (text == "<") ++depth;
    if (text == ">" && --depth == 0) return i;
    if (text == ";" || text == "{" || closes(text)) return std::nullopt;
    if (!opens(text)) continue;
    const auto close = closing_of(stream, i, kFarthestBack);
    if (!close) return std::nullopt;
    i = *close;
  }
  return std::nullopt;
}

std::optional<std::size_t> opening_angle_of(const Stream& stream, std::size_t close, std::size_t first) {
  std::size_t depth = 0;
  for (std::size_t i = close + 1; i-- > first && close - i < kFarthestBack;) {
    if (stream[i].kind != TokenKind::kPunctuation) continue;
    const std::string_view text = stream[i].text;
    if (text == ">") ++depth;
    if (text == "<" && --depth == 0) return i;
    if (text == ";" || text == "}" || opens(text)) return std::nullopt;
    if (!closes(text)) continue;
    const auto open = opening_of(stream, i, first);
    if (!open) return std::nullopt;
    i = *open;
  }
  return std::nullopt;
}

std::size_t body_begin(const Stream& stream) {
  if (stream.empty() || stream.front().directive == 0 || !is_word(stream, 1, "define") || stream.size() < 3) return 0;
  const bool has_parameters = is_mark(stream, 3, "(") && stream[3].begin == stream[2].end();
  const auto close = has_parameters ? closing_of(stream, 3) : std::nullopt;
  return close ? *close + 1 : 3;  // 3: past "#", "define" and the name
}

std::size_t count_pieces(const Stream& stream, std::size_t begin, std::size_t end) {
  if (begin >= end) return 0;
  std::size_t count = 1;
  for (std::size_t i = begin; i < end; ++i) {
    if (is_mark(stream, i, ",")) ++count;
    const bool is_bracket = stream[i].kind == TokenKind::kPunctuation && opens(stream[i].text);
    const auto close = is_bracket                ? closing_of(stream, i)
                       : is_mark(stream, i, "<") ? closing_angle_of(stream, i)
                                                 : std::nullopt;
    if (close && *close < end) i = *close;
  }
  return count;
}

std::string one_line(std::span<const Token> tokens) {
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool is_apart = i > 0 && tokens[i - 1].end() != tokens[i].begin;
    if (is_apart) text += ' ';
    text += tokens[i].text;
  }
  return text;
}

}  // namespace lockstep::translate
