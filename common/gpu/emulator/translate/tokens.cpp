#include "emulator/translate/tokens.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace lockstep::translate {
namespace {

constexpr std::size_t kLongestRawDelimiter = 16;  // [lex.string]

bool is_digit(char character) { return character >= '0' && character <= '9'; }

// Non-ASCII bytes belong to identifiers in UTF-8.
bool starts_identifier(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || character == '_' ||
         character == '$' || static_cast<unsigned char>(character) >= 0x80;
}

bool continues_identifier(char character) { return starts_identifier(character) || is_digit(character); }

bool is_blank(char character) {
  return character == ' ' || character == '\t' || character == '\r' || character == '\v' || character == '\f';
}

bool is_raw_prefix(std::string_view text) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"R", "u8R", "uR", "UR", "LR"};
  return std::ranges::find(kPrefixes, text) != kPrefixes.end();
}

bool is_literal_prefix(std::string_view text) {
  constexpr std::array<std::string_view, 4> kPrefixes = {"u8", "u", "U", "L"};
  return std::ranges::find(kPrefixes, text) != kPrefixes.end();
}

class Splitter {
 public:
  explicit Splitter(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) step();
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char look(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  // Length of a backslash and the line end after it, which join two lines; 0 if there is none at `offset`.
  [[nodiscard]] std::size_t splice_at(std::size_t offset) const {
    if (source_.substr(offset).starts_with("\\\n")) return 2;
    return source_.substr(offset).starts_with("\\\r\n") ? 3 : 0;
  }

  void step() {
    const char character = look();
    if (character == '\n') {
      ++at_;
      directive_ = 0;
      is_line_start_ = true;
    } else if (is_blank(character)) {
      ++at_;
    } else if (const std::size_t splice = splice_at(at_); splice != 0) {
      at_ += splice;
    } else if (character == '/' && look(1) == '/') {
      skip_line_comment();
    } else if (character == '/' && look(1) == '*') {
      const std::size_t end = source_.find("*/", at_ + 2);  // 2: past the opening
      at_ = end == std::string_view::npos ? source_.size() : end + 2;
    } else {
      take_token();
    }
  }

  void skip_line_comment() {
    while (at_ < source_.size() && source_[at_] != '\n') at_ += std::max<std::size_t>(1, splice_at(at_));
  }

  void take_token() {
    const char character = look();
    if (character == '#' && is_line_start_ && directive_ == 0) directive_ = ++directives_;
    is_line_start_ = false;
    if (starts_identifier(character)) {
      take_word();
    } else if (is_digit(character) || (character == '.' && is_digit(look(1)))) {
      take_number();
    } else if (character == '"' || character == '\'') {
      take_literal(at_);
    } else if (names_header()) {
      take_header_name();
    } else {
      const bool is_pair = (character == ':' && look(1) == ':') || (character == '-' && look(1) == '>');
      push(TokenKind::kPunctuation, at_ + (is_pair ? 2U : 1U));
    }
  }

  void take_word() {
    std::size_t end = at_;
    while (end < source_.size() && continues_identifier(source_[end])) ++end;
    const std::string_view word = source_.substr(at_, end - at_);
    const char next = end < source_.size() ? source_[end] : '\0';
    if (next == '"' && is_raw_prefix(word)) {
      take_raw_string(end);
    } else if ((next == '"' || next == '\'') && is_literal_prefix(word)) {
      take_literal(end);
    } else {
      push(TokenKind::kIdentifier, end);
    }
  }

  void take_number() {
    std::size_t end = at_ + 1;
    while (end < source_.size()) {
      const char character = source_[end], before = source_[end - 1];
      const bool is_exponent = before == 'e' || before == 'E' || before == 'p' || before == 'P';
      const bool is_separator = character == '\'' && end + 1 < source_.size() && continues_identifier(source_[end + 1]);
      const bool is_sign = (character == '+' || character == '-') && is_exponent;
      if (!continues_identifier(character) && character != '.' && !is_separator && !is_sign) break;
      ++end;
    }
    push(TokenKind::kNumber, end);
  }

  // An unterminated literal is one token up to the end of its line: an apostrophe in the text of #error, for example.
  void take_literal(std::size_t quote_at) {
    const char quote = source_[quote_at];
    if (quote == '"' && names_header()) return take_header_name();
    std::size_t end = quote_at + 1;
    while (end < source_.size() && source_[end] != quote && source_[end] != '\n') {
      const std::size_t splice = splice_at(end);
      end += splice != 0                                                                    ? splice
             : source_[end] == '\\' && end + 1 < source_.size() && source_[end + 1] != '\n' ? 2
                                                                                            : 1;
    }
    const bool is_closed = end < source_.size() && source_[end] == quote;
    push(TokenKind::kLiteral, std::min(source_.size(), end + (is_closed ? 1U : 0U)));
  }

  void take_raw_string(std::size_t quote_at) {
    const std::size_t open = source_.substr(0, quote_at + kLongestRawDelimiter + 2).find('(', quote_at);
    if (open == std::string_view::npos) return take_literal(quote_at);
    std::string closing = ")";
    closing.append(source_.substr(quote_at + 1, open - quote_at - 1)).append("\"");
    const std::size_t end = source_.find(closing, open);
    push(TokenKind::kLiteral, end == std::string_view::npos ? source_.size() : end + closing.size());
  }

  // True if the next token follows `#include` or `#import`.
  [[nodiscard]] bool names_header() const {
    if (directive_ == 0 || tokens_.size() < 2 || (look() != '<' && look() != '"')) return false;
    const Token& word = tokens_.back();
    const Token& hash = tokens_[tokens_.size() - 2];
    return word.directive == directive_ && hash.directive == directive_ && hash.text == "#" &&
           (word.text == "include" || word.text == "include_next" || word.text == "import");
  }

  void take_header_name() {
    const char closing = look() == '<' ? '>' : '"';
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != closing && source_[end] != '\n') ++end;
    const bool is_closed = end < source_.size() && source_[end] == closing;
    push(TokenKind::kHeaderName, is_closed ? end + 1 : end);
  }

  void push(TokenKind kind, std::size_t end) {
    tokens_.push_back({kind, source_.substr(at_, end - at_), at_, directive_});
    at_ = end;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t directive_ = 0;   // the current one
  std::size_t directives_ = 0;  // number of directives so far
  bool is_line_start_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> split_tokens(std::string_view source) { return Splitter(source).run(); }

LineColumn line_column(std::string_view source, std::size_t offset) {
  const std::string_view before = source.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
  return {static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1, before.size() - line_begin + 1};
}

}  // namespace lockstep::translate
