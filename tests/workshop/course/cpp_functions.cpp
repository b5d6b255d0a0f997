#include "cpp_functions.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <string_view>

namespace lockstep::checks {

namespace {

bool is_word(char character) { return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_'; }

std::string join(const course::TextFile& file) {
  std::string text;
  for (const std::string& line : file.lines) text += line + "\n";
  return text;
}

/// Blanks one file from left to right.
class Blanker {
 public:
  explicit Blanker(std::string text) : text_(std::move(text)) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(text_);
  }

 private:
  void step() {
    const std::string_view rest = std::string_view(text_).substr(at_);
    const char before = at_ == 0 ? '\n' : text_[at_ - 1];
    if (rest.starts_with("//")) return blank_to(rest.find('\n'));
    if (rest.starts_with("/*")) return blank_to(end_after(rest, "*/", 2));
    if (rest.starts_with("R\"") && !is_word(before)) return blank_raw_string(rest);
    if (rest.starts_with('"')) return blank_literal(rest, '"');
    if (rest.starts_with('\'') && !is_word(before)) return blank_literal(rest, '\'');  // otherwise a digit separator
    if (rest.starts_with('#') && is_line_start()) return blank_directive();
    ++at_;
  }

  static std::size_t end_after(std::string_view rest, std::string_view mark, std::size_t from) {
    const std::size_t found = rest.find(mark, from);
    return found == std::string_view::npos ? found : found + mark.size();
  }

  /// Blanks `length` characters from here, except line breaks.
  void blank_to(std::size_t length) {
    const std::size_t end = length == std::string_view::npos ? text_.size() : at_ + length;
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') text_[at_] = ' ';
    }
  }

  /// Keeps the quotes, so that a call with a literal still looks like one.
  void blank_literal(std::string_view rest, char quote) {
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != quote) end += rest[end] == '\\' ? 2 : 1;
    ++at_;
    blank_to(end - 1);
    ++at_;
  }

  void blank_raw_string(std::string_view rest) {
    const std::string delimiter = ")" + std::string(rest.substr(2, rest.find('(') - 2)) + "\"";
    blank_to(end_after(rest, delimiter, 2));
  }

  void blank_directive() {
    std::size_t end = text_.find('\n', at_);
    while (end != std::string::npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
    blank_to(end == std::string::npos ? end : end - at_);
  }

  [[nodiscard]] bool is_line_start() const {
    std::size_t index = at_;
    while (index > 0 && (text_[index - 1] == ' ' || text_[index - 1] == '\t')) --index;
    return index == 0 || text_[index - 1] == '\n';
  }

  std::string text_;
  std::size_t at_ = 0;
};

enum class BraceKind { kScope, kFunction, kInitializer };

/// True if a constructor's member initialisers have begun in the text before a brace.
bool has_member_initialisers(const std::string& head) {
  int depth = 0;
  bool has_parameters = false;
  for (std::size_t index = 0; index < head.size(); ++index) {
    if (head[index] == '(') ++depth;
    if (head[index] == ')' && --depth == 0) has_parameters = true;
    const bool is_double = (index > 0 && head[index - 1] == ':') || (index + 1 < head.size() && head[index + 1] == ':');
    if (head[index] == ':' && depth == 0 && has_parameters && !is_double) return true;
  }
  return false;
}

BraceKind classify(const std::string& head) {
  static const std::regex kNamespace(R"(^\s*(inline\s+)?namespace\b|^\s*extern\s*""\s*$)");
  static const std::regex kType(R"((^|[\s>])(class|struct|union|enum)\s[^)]*$)");
  if (std::regex_search(head, kNamespace) || std::regex_search(head, kType)) return BraceKind::kScope;
  if (head.find('(') == std::string::npos) return BraceKind::kInitializer;
  const std::size_t last = head.find_last_not_of(" \n\t");
  const bool follows_name = is_word(head[last]) || head[last] == '>';
  if (follows_name && has_member_initialisers(head)) return BraceKind::kInitializer;
  return BraceKind::kFunction;
}

std::string name_before_parameters(const std::string& head) {
  std::size_t end = head.find('(');
  while (end > 0 && !is_word(head[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_word(head[begin - 1])) --begin;
  return head.substr(begin, end - begin);
}

/// Reads blanked code and notes where functions begin and end.
class Scanner {
 public:
  std::vector<FunctionSpan> run(const std::string& code) {
    for (const char character : code) step(character);
    return std::move(functions_);
  }

 private:
  void step(char character) {
    if (character == '\n') ++line_;
    if (character == '{') return open();
    if (character == '}') return close();
    if (inner_depth_ > 0) return;
    if (character == '(') ++parentheses_;
    if (character == ')') --parentheses_;
    if (character == ';' && parentheses_ == 0) return begin_statement();
    if (head_.empty() && std::isspace(static_cast<unsigned char>(character)) != 0) return;
    if (head_.empty()) head_line_ = line_;
    head_ += character;
  }

  void open() {
    if (inner_depth_ > 0) {
      ++inner_depth_;
      return;
    }
    kind_ = parentheses_ > 0 ? BraceKind::kInitializer : classify(head_);
    if (kind_ == BraceKind::kScope)
      begin_statement();
    else
      inner_depth_ = 1;
  }

  void close() {
    if (inner_depth_ == 0) return begin_statement();
    if (--inner_depth_ > 0) return;
    if (kind_ == BraceKind::kFunction) {
      functions_.push_back({name_before_parameters(head_), head_line_, line_});
      begin_statement();
    } else {
      head_ += "}";
    }
  }

  void begin_statement() {
    head_.clear();
    parentheses_ = 0;
  }

  std::vector<FunctionSpan> functions_;
  BraceKind kind_ = BraceKind::kScope;
  int inner_depth_ = 0;  // braces open inside a function or initialiser
  int parentheses_ = 0;
  std::string head_;
  std::size_t head_line_ = 1;
  std::size_t line_ = 1;
};

}  // namespace

std::string code_only(const course::TextFile& file) { return Blanker(join(file)).run(); }

std::vector<FunctionSpan> find_functions(const course::TextFile& file) { return Scanner().run(code_only(file)); }

}  // namespace lockstep::checks
