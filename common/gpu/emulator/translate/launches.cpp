// kernel<<<grid, block, shared_bytes, stream>>>(arguments): finds the start of the kernel's name and the end of the
// configuration, and chooses between the two ways to launch.
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "emulator/translate/edits.hpp"

namespace lockstep::translate {
namespace {

constexpr std::size_t kLongestConfiguration = 4000;  // tokens
constexpr std::size_t kMoreTemplateArguments = 64;   // most tokens from a >>>( of template arguments to the launch's

bool is_statement_word(std::string_view word) {
  constexpr std::array<std::string_view, 8> kWords = {"if", "while", "for", "switch", "return", "else", "do", "case"};
  return std::ranges::find(kWords, word) != kWords.end();
}

// The expression before <<<.
struct Callee {
  std::size_t begin = 0;      // index of its first token
  std::size_t name = 0;       // index of the kernel's unqualified name, if it has one
  std::size_t arguments = 0;  // number of template arguments written
  bool is_name = false;       // a name, possibly qualified, rather than an expression that yields a pointer
};

class LaunchFinder {
 public:
  LaunchFinder(const Subject& subject, const Stream& stream, Edits& edits)
      : subject_(subject), stream_(stream), edits_(edits), first_(body_begin(stream)) {}

  void run() {
    for (std::size_t i = first_; i + 2 < stream_.size(); ++i) {
      if (!is_triple(stream_, i, "<") || (i > 0 && is_word(stream_, i - 1, "operator"))) continue;
      translate_launch(i);
      i += 2;  // past <<<: the configuration and the arguments may contain launches too
    }
  }

 private:
  [[noreturn]] void fail(std::size_t index, const std::string& message) const {
    fail_at(subject_.source, subject_.file, stream_[index].begin, message);
  }

  void translate_launch(std::size_t open) {
    const Callee callee = callee_before(open);
    const std::size_t close = end_of_configuration(open);
    check_configuration(open, close);
    const std::span<const Token> tokens(stream_.begin() + static_cast<std::ptrdiff_t>(callee.begin),
                                        stream_.begin() + static_cast<std::ptrdiff_t>(open));
    const std::string name = one_line(tokens);
    const bool has_address = !callee.is_name || has_known_address(callee);
    const std::string shown = is_macro_parameter(callee, open) ? concat("#", name) : quoted(name);
    edits_.push_back(
        {stream_[callee.begin].begin, 0,
         concat("::lockstep::emulator::", has_address ? "launch_function" : "launch_call", "({__FILE__, __LINE__}, ",
                shown, ", ", has_address ? "" : "[=](auto... lockstep_arguments) { ")});
    edits_.push_back({stream_[open].begin, 3, has_address ? ", " : "(lockstep_arguments...); }, "});  // 3: <<<
    edits_.push_back({stream_[close].begin, 3, ")"});
  }

  static std::string quoted(const std::string& text) {
    std::string quoted = "\"";
    for (const char character : text) {
      if (character == '"' || character == '\\') quoted += '\\';
      quoted += character == '\n' || character == '\r' ? ' ' : character;
    }
    return quoted + '"';
  }

  // Walks back over: name, name<...>, a::b<...>::c, (expression), table[i], f(x), a.b, a->b.
  [[nodiscard]] Callee callee_before(std::size_t open) const {
    Callee callee;
    std::size_t at = open;
    bool is_expression = false;
    for (bool is_first = true;; is_first = false) {
      at = before_operand(at, open, is_first, callee, is_expression);
      const bool is_scope = at > first_ && is_mark(stream_, at - 1, "::");
      const bool is_member = at > first_ && (is_mark(stream_, at - 1, ".") || is_mark(stream_, at - 1, "->"));
      if (!is_scope && !is_member) break;
      is_expression = is_expression || is_member;
      --at;
      if (at == first_) break;
      const Token& before = stream_[at - 1];
      const bool goes_on = before.kind == TokenKind::kIdentifier
                               ? !is_statement_word(before.text)
                               : before.text == ">" || (is_member && before.text != ";");
      if (!goes_on) break;  // a leading "::"
    }
    callee.begin = at;
    callee.is_name = !is_expression;
    return callee;
  }

  // Index of the first token of the operand that ends before `at`.
  std::size_t before_operand(std::size_t at, std::size_t open, bool is_first, Callee& callee,
                             bool& is_expression) const {
    if (at == first_) fail(open, "there is no kernel before <<<");
    if (is_mark(stream_, at - 1, ">")) {
      const auto angle = opening_angle_of(stream_, at - 1, first_);
      if (!angle) fail(open, "the > before <<< has no matching <");
      if (*angle == first_) fail(open, "there is no kernel before <<<");
      if (is_first) callee.arguments = count_pieces(stream_, *angle + 1, at - 1);
      at = *angle;
    }
    while (is_mark(stream_, at - 1, ")") || is_mark(stream_, at - 1, "]")) {
      const auto bracket = opening_of(stream_, at - 1, first_);
      if (!bracket) fail(open, "the bracket before <<< has no opening bracket");
      is_expression = true;
      at = *bracket;
      const bool has_name =
          at > first_ && stream_[at - 1].kind == TokenKind::kIdentifier && !is_statement_word(stream_[at - 1].text);
      const bool has_bracket = at > first_ && (is_mark(stream_, at - 1, "]") || is_mark(stream_, at - 1, ")"));
      if (!has_name && !(has_bracket && is_mark(stream_, at, "["))) return at;
    }
    if (at == first_ || stream_[at - 1].kind != TokenKind::kIdentifier || is_statement_word(stream_[at - 1].text)) {
      fail(open, "there is no kernel before <<<");
    }
    if (is_first) callee.name = at - 1;
    return at - 1;
  }

  // Index of the >>> that a parenthesis follows. Template arguments in the configuration may also end in >>>, even
  // before a parenthesis: the last candidate in the statement is the launch's.
  [[nodiscard]] std::size_t end_of_configuration(std::size_t open) const {
    std::optional<std::size_t> found;
    const std::size_t limit = std::min(stream_.size(), open + kLongestConfiguration);
    for (std::size_t i = open + 3; i < limit; ++i) {  // 3: past <<<
      if (found && i > *found + kMoreTemplateArguments) break;
      if (is_triple(stream_, i, ">") && is_mark(stream_, i + 3, "(")) found = i;
      if (is_mark(stream_, i, ";") || is_triple(stream_, i, "<")) break;
      if (is_mark(stream_, i, ")") || is_mark(stream_, i, "]") || is_mark(stream_, i, "}")) break;
      if (!is_mark(stream_, i, "(") && !is_mark(stream_, i, "[") && !is_mark(stream_, i, "{")) continue;
      const auto close = closing_of(stream_, i, kLongestConfiguration);
      if (!close) break;
      i = *close;
    }
    if (!found) fail(open, "this <<< has no >>> with the kernel's arguments in parentheses after it");
    return *found;
  }

  void check_configuration(std::size_t open, std::size_t close) const {
    const std::size_t count = count_pieces(stream_, open + 3, close);  // 3: past <<<
    // One value may be a macro that expands to two.
    if (count < 1) {
      fail(open, "a launch needs at least two values: <<<blocks, threads per block>>>");
    }
    if (count > 4) {
      fail(open,
           concat("a launch takes at most four values, <<<grid, block, shared bytes, stream>>>; here are ", count));
    }
  }

  [[nodiscard]] bool has_known_address(const Callee& callee) const {
    const auto known = subject_.kernels.find(stream_[callee.name].text);
    if (known == subject_.kernels.end() || known->second.is_overloaded || known->second.has_defaults) {
      return false;
    }
    const KernelName& kernel = known->second;
    return !kernel.is_template ||
           (!kernel.has_pack && callee.arguments >= kernel.needed_arguments && callee.arguments > 0);
  }

  // True if the kernel is a parameter of the macro whose body this is: then the macro's user names it.
  [[nodiscard]] bool is_macro_parameter(const Callee& callee, std::size_t open) const {
    if (first_ == 0 || open - callee.begin != 1) return false;
    return std::any_of(stream_.begin() + 3, stream_.begin() + static_cast<std::ptrdiff_t>(first_),  // 3: past the name
                       [&](const Token& token) { return token.text == stream_[callee.begin].text; });
  }

  const Subject& subject_;
  const Stream& stream_;
  Edits& edits_;
  std::size_t first_;  // index of the first token that may belong to a callee
};

}  // namespace

void find_launches(const Subject& subject, const Stream& stream, Edits& edits) {
  LaunchFinder(subject, stream, edits).run();
}

}  // namespace lockstep::translate
