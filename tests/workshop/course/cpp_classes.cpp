#include "cpp_classes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

#include "cpp_functions.hpp"

namespace lockstep::checks {

namespace {

// A word, "::", another character, or what stands in a pair of brackets: "()", "[]" or "{}".
struct Token {
  std::string text;
  std::size_t line = 1;
  std::vector<Token> inside = {};

  [[nodiscard]] bool is_word() const {
    return std::isalpha(static_cast<unsigned char>(text.front())) != 0 || text.front() == '_';
  }
};
using Tokens = std::span<const Token>;

/// Turns code into tokens, brackets nested.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view code) : code_(code) {}

  std::vector<Token> run(char closing = '\0') {
    std::vector<Token> tokens;
    while (at_ < code_.size()) {
      const char character = code_[at_];
      if (character == closing) break;
      if (character == '\n') ++line_;
      if (std::isspace(static_cast<unsigned char>(character)) != 0)
        ++at_;
      else
        tokens.push_back(next());
    }
    return tokens;
  }

 private:
  Token next() {
    constexpr std::string_view kOpening = "([{", kClosing = ")]}";
    const std::size_t line = line_, begin = at_++;
    const char first = code_[begin];
    if (const std::size_t kind = kOpening.find(first); kind != std::string_view::npos) {
      Token group{std::string{first, kClosing[kind]}, line, run(kClosing[kind])};
      ++at_;
      return group;
    }
    if (code_.substr(begin, 2) == "::") {
      ++at_;
    } else if (is_part_of_word(first)) {
      while (at_ < code_.size() && is_part_of_word(code_[at_])) ++at_;
    }
    return {std::string(code_.substr(begin, at_ - begin)), line};
  }

  static bool is_part_of_word(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
  }

  std::string_view code_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

// Follows the angle brackets of templates from token to token.
class TemplateDepth {
 public:
  /// Of the tokens up to and including `token`, which stands after `before`.
  int after(const Token& token, const Token* before) {
    const bool follows_name = before != nullptr && before->is_word() && before->text != "operator";
    if (token.text == "<" && (follows_name || depth_ > 0)) ++depth_;
    if (token.text == ">" && depth_ > 0 && before->text != "-") --depth_;
    return depth_;
  }

 private:
  int depth_ = 0;
};

// Position of the parameters of a function's declaration; the end if it declares none.
std::size_t find_parameters(Tokens statement) {
  TemplateDepth depth;
  for (std::size_t i = 0; i < statement.size(); ++i) {
    const Token& token = statement[i];
    const Token* before = i == 0 ? nullptr : &statement[i - 1];
    if (depth.after(token, before) > 0 || before == nullptr) continue;
    const bool is_of_operator = before->text == "operator" || (i > 1 && statement[i - 2].text == "operator");
    if (!is_of_operator && is_any_of(token.text, {"=", "{}"})) break;
    if (token.text == "()" && before->text != "operator" &&
        !is_any_of(before->text, {"alignas", "decltype", "noexcept", "explicit", "requires", "[]"}))
      return i;
  }
  return statement.size();
}

// The tokens of one declaration or definition from the front of `tokens`, which lose them.
Tokens take_statement(Tokens& tokens) {
  std::size_t end = 0;
  for (; end < tokens.size(); ++end) {
    if (tokens[end].text == ";") break;
    if (tokens[end].text != "{}") continue;
    const Tokens head = tokens.first(end);
    const bool is_scope = is_any_of(head.empty() ? "" : head.front().text, {"namespace", "extern", "inline"}) &&
                          find_parameters(head) == head.size();
    const bool goes_on = end + 1 < tokens.size() && is_any_of(tokens[end + 1].text, {",", "{}", ";"});
    if (is_scope || (find_parameters(head) < head.size() && !goes_on)) break;
  }
  const std::size_t length = std::min(end + 1, tokens.size());
  const Tokens statement = tokens.first(length);
  tokens = tokens.subspan(length);
  return statement;
}

// Without access labels, attributes and template parameters in front.
Tokens without_prefixes(Tokens statement) {
  while (!statement.empty()) {
    if (is_any_of(statement[0].text, {"public", "private", "protected"})) {
      statement = statement.subspan(std::min<std::size_t>(2, statement.size()));
    } else if (statement[0].text == "[]") {
      statement = statement.subspan(1);
    } else if (statement[0].text == "template") {
      TemplateDepth depth;
      std::size_t i = 1;
      while (i < statement.size() && depth.after(statement[i], &statement[i - 1]) > 0) ++i;
      statement = statement.subspan(std::min(i + 1, statement.size()));
    } else {
      break;
    }
  }
  return statement;
}

/// Goes through the declarations of a file.
class Reader {
 public:
  ClassesOfFile run(const std::vector<Token>& tokens) {
    read_scope(tokens, "");
    return std::move(found_);
  }

 private:
  void read_scope(Tokens tokens, const std::string& around) {
    while (!tokens.empty()) {
      const Tokens statement = without_prefixes(take_statement(tokens));
      if (statement.empty() || read_namespace(statement, around) || read_class(statement, around)) continue;
      note_definition(statement, around);
    }
  }

  bool read_namespace(Tokens statement, const std::string& around) {
    const std::size_t at = statement.front().text == "inline" ? 1 : 0;
    if (at >= statement.size() || !is_any_of(statement[at].text, {"namespace", "extern"})) return false;
    if (statement.back().text != "{}") return false;
    std::string name = around;
    for (const Token& token : statement.subspan(at + 1, statement.size() - at - 2))
      if (token.is_word()) name += (name.empty() ? "" : "::") + token.text;
    read_scope(statement.back().inside, name);
    return true;
  }

  // A class with a body; a variable of that type may follow.
  bool read_class(Tokens statement, const std::string& around) {
    if (!is_any_of(statement.front().text, {"class", "struct", "union"})) return false;
    const auto body = std::ranges::find(statement, "{}", &Token::text);
    if (body == statement.end()) return false;
    std::string name;
    for (const Token& token : statement.subspan(1)) {
      if (token.text == ":" || token.text == "{}" || token.text == "<") break;
      if (token.text == "::") name += "::";
      if (token.is_word() && !is_any_of(token.text, {"final", "alignas"})) name += token.text;
    }
    ClassShape shape{.name = (around.empty() ? "" : around + "::") + name,
                     .line = statement.front().line,
                     .is_struct = statement.front().text == "struct",
                     .methods = {}};
    read_body(body->inside, shape);
    found_.classes.push_back(std::move(shape));
    return true;
  }

  void read_body(Tokens tokens, ClassShape& shape) {
    while (!tokens.empty()) {
      const Tokens statement = without_prefixes(take_statement(tokens));
      if (statement.empty() || read_class(statement, shape.name)) continue;
      if (is_any_of(statement.front().text,
                    {"using", "typedef", "friend", "static_assert", "enum", "class", "struct", ";"}))
        continue;
      if (const std::size_t parameters = find_parameters(statement); parameters < statement.size())
        count_method(statement, parameters, shape);
      else
        count_members(statement, shape);
    }
  }

  static void count_method(Tokens statement, std::size_t parameters, ClassShape& shape) {
    const std::string_view own_name = std::string_view(shape.name).substr(shape.name.rfind(':') + 1);
    const std::string& name = statement[parameters - 1].text;
    if (name == own_name) return;  // a constructor, or the destructor
    for (std::size_t i = parameters; i < statement.size(); ++i)
      if (is_any_of(statement[i].text, {"override", "final", "delete", "default"})) return;
    std::string symbol;
    for (const Token& token : statement.first(parameters))
      symbol = token.text == "operator" ? "operator" : symbol.empty() ? "" : symbol + token.text;
    shape.methods.insert(symbol.empty() ? name : symbol);
  }

  static void count_members(Tokens statement, ClassShape& shape) {
    if (std::ranges::find(statement, "static", &Token::text) != statement.end()) return;
    TemplateDepth depth;
    std::size_t count = 1;
    for (std::size_t i = 0; i < statement.size(); ++i)
      if (depth.after(statement[i], i == 0 ? nullptr : &statement[i - 1]) == 0 && statement[i].text == ",") ++count;
    shape.member_count += count;
  }

  // A method that is defined outside its class: "Hub" in "void Hub::join() { ... }".
  void note_definition(Tokens statement, const std::string& around) {
    const std::size_t parameters = find_parameters(statement);
    if (parameters == statement.size() || statement.back().text != "{}") return;
    std::string name;
    std::size_t at = parameters - 1;
    if (at > 0 && statement[at - 1].text == "~") --at;
    while (at >= 2 && statement[at - 1].text == "::" && statement[at - 2].is_word()) {
      at -= 2;
      name = statement[at].text + (name.empty() ? "" : "::" + name);
    }
    const bool is_class = !name.empty() && std::isupper(static_cast<unsigned char>(name.front())) != 0;
    if (is_class) found_.defined_elsewhere.insert((around.empty() ? "" : around + "::") + name);
  }

  ClassesOfFile found_;
};

}  // namespace

ClassesOfFile find_classes(const course::TextFile& file) {
  const std::string code = code_only(file);
  return Reader().run(Tokenizer(code).run());
}

}  // namespace lockstep::checks
