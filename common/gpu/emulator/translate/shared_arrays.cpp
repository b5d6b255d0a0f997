// Turns extern __shared__ T name[]; into a pointer to the block's dynamic shared memory.
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "emulator/translate/edits.hpp"

namespace lockstep::translate {
namespace {

constexpr std::size_t kLongestDeclaration = 200;  // tokens

bool is_storage(std::string_view word) {
  return word == "extern" || word == "__shared__" || word == "static" || word == "inline";
}

bool is_alignment(std::string_view word) {
  return word == "__align__" || word == "alignas" || word == "__attribute__" || word == "__builtin_align__";
}

// Tracks scopes: braces of namespaces and extern "C" keep namespace scope; all others open blocks or classes.
class Scope {
 public:
  void see(const Stream& code, std::size_t index) {
    const bool is_end = is_mark(code, index, ";");
    if (is_mark(code, index, "{")) {
      if (blocks_ > 0 || !is_namespace(code, index)) ++blocks_;
    } else if (is_mark(code, index, "}")) {
      if (blocks_ > 0) --blocks_;
    } else if (!is_end) {
      return;
    }
    statement_ = index + 1;
  }

  [[nodiscard]] bool is_in_block() const { return blocks_ > 0; }
  [[nodiscard]] std::size_t statement() const { return statement_; }

 private:
  [[nodiscard]] bool is_namespace(const Stream& code, std::size_t brace) const {
    if (brace == statement_) return false;
    const bool is_linkage = is_word(code, statement_, "extern") && code[brace - 1].kind == TokenKind::kLiteral;
    const std::size_t word = is_word(code, statement_, "inline") ? statement_ + 1 : statement_;
    return is_linkage || is_word(code, word, "namespace");
  }

  std::size_t blocks_ = 0;
  std::size_t statement_ = 0;  // index of the first token of the statement
};

// A parsed declaration.
struct Declaration {
  std::size_t begin = 0;  // index of its first token
  std::size_t end = 0;    // index of its ";"
  std::size_t name = 0;
  std::string type;     // of an element
  std::string further;  // the array's further dimensions, such as "[32][4]"
};

class ArrayFinder {
 public:
  ArrayFinder(const Subject& subject, const Stream& stream, Edits& edits)
      : subject_(subject),
        stream_(stream),
        edits_(edits),
        is_macro_(!stream.empty() && stream.front().directive != 0) {}

  void run() {
    Scope scope;
    for (std::size_t i = body_begin(stream_); i < stream_.size(); ++i) {
      scope.see(stream_, i);
      if (is_word(stream_, i, "__constant__")) drop_static(i);
      if (!is_word(stream_, i, "__shared__")) continue;
      const auto declaration = read(is_macro_ ? body_begin(stream_) : scope.statement(), i);
      if (!declaration) {
        adapt_words(i);
        continue;
      }
      replace(*declaration, is_macro_ || scope.is_in_block());
      i = declaration->end - 1;  // lets the scope see the ";"
    }
  }

 private:
  [[noreturn]] void fail(std::size_t index, const std::string& message) const {
    fail_at(subject_.source, subject_.file, stream_[index].begin, message);
  }

  // Nothing if `__shared__` at `shared` declares an array of fixed size, which is not changed.
  [[nodiscard]] std::optional<Declaration> read(std::size_t statement, std::size_t shared) const {
    Declaration found;
    found.begin = shared;
    std::size_t end = shared;
    while (end < stream_.size() && end < shared + kLongestDeclaration && !is_mark(stream_, end, ";")) ++end;
    bool is_extern = false;
    for (std::size_t i = shared; i-- > statement && shared - i < kLongestDeclaration;) {
      if (is_mark(stream_, i, ";") || is_mark(stream_, i, "{") || is_mark(stream_, i, "}")) break;
      if (!is_word(stream_, i, "extern")) continue;
      found.begin = i;
      is_extern = true;
    }
    for (std::size_t i = shared; i < end && !is_extern; ++i) is_extern = is_word(stream_, i, "extern");
    if (!is_extern) return std::nullopt;
    const bool is_whole = end < stream_.size() && is_mark(stream_, end, ";");
    if (!is_whole && !is_macro_) fail(shared, "this extern __shared__ declaration has no ;");
    found.end = is_whole ? end : stream_.size();
    take_apart(found);
    return found;
  }

  // Index of the last token of the construct at `index`: an attribute with its argument, or template arguments.
  [[nodiscard]] std::size_t last_of(std::size_t index, std::size_t end) const {
    const bool has_argument = is_alignment(stream_[index].text) && is_mark(stream_, index + 1, "(");
    if (has_argument) return std::min(closing_of(stream_, index + 1).value_or(end), end);
    return is_mark(stream_, index, "<") ? std::min(closing_angle_of(stream_, index).value_or(index), end) : index;
  }

  void take_apart(Declaration& declaration) const {
    Stream type;
    std::size_t bracket = declaration.begin;
    for (; bracket < declaration.end && !is_mark(stream_, bracket, "["); ++bracket) {
      const std::string_view text = stream_[bracket].text;
      const std::size_t last = last_of(bracket, declaration.end - 1);
      const bool is_dropped = is_storage(text) || (is_alignment(text) && last > bracket);
      for (std::size_t each = bracket; each <= last && !is_dropped; ++each) type.push_back(stream_[each]);
      bracket = last;
    }
    if (bracket >= declaration.end || type.size() < 2 || type.back().kind != TokenKind::kIdentifier) {
      fail(declaration.begin, "dynamic shared memory is declared as an array: extern __shared__ float name[];");
    }
    declaration.name = bracket - 1;
    type.pop_back();  // the name
    declaration.type = one_line(type);
    declaration.further = further_dimensions(bracket, declaration.end);
  }

  // For `[][32][4]`, the "[32][4]".
  [[nodiscard]] std::string further_dimensions(std::size_t bracket, std::size_t end) const {
    const auto close = closing_of(stream_, bracket);
    const bool is_one = close && *close < end;
    if (!is_one) fail(bracket, "this bracket is not closed");
    std::size_t last = *close + 1;
    while (last < end && is_mark(stream_, last, "[")) last = closing_of(stream_, last).value_or(end) + 1;
    if (last != end) {
      fail(std::min(last, stream_.size() - 1), "declare one extern __shared__ array per statement");
    }
    return one_line(std::span(stream_).subspan(*close + 1, end - *close - 1));
  }

  // `__shared__` and `__constant__` are `static` for the host: `static` must not stand beside them too.
  void drop_static(std::size_t qualifier) {
    for (const std::size_t beside : {qualifier - 1, qualifier + 1}) {
      if (beside >= stream_.size() || !is_word(stream_, beside, "static")) continue;
      edits_.push_back({stream_[beside].begin, stream_[beside].text.size(), ""});
    }
  }

  // Nor may alignas() follow `__shared__`.
  void adapt_words(std::size_t shared) {
    drop_static(shared);
    if (is_word(stream_, shared + 1, "alignas")) {
      edits_.push_back({stream_[shared + 1].begin, stream_[shared + 1].text.size(), "__align__"});
    }
  }

  [[nodiscard]] std::string block_pointer(const Declaration& declaration) const {
    return concat("auto* ", stream_[declaration.name].text, " = ::lockstep::emulator::dynamic_shared<",
                  declaration.type, declaration.further, ">()");
  }

  // A name for the engine's own pointer: reads of an `extern` constant are no accesses that the checker sees.
  [[nodiscard]] std::string namespace_pointer(const Declaration& declaration) const {
    const std::string_view name = stream_[declaration.name].text;
    const std::string declared = declaration.further.empty()
                                     ? concat(declaration.type, "* const ", name)
                                     : concat(declaration.type, " (*const ", name, ")", declaration.further);
    return concat("extern ", declared, " __asm__(\"lockstep_emulator_shared_memory\")");
  }

  void replace(const Declaration& declaration, bool is_in_block) {
    const std::size_t begin = stream_[declaration.begin].begin;
    const std::size_t end = stream_[declaration.end - 1].end();
    std::string text = is_in_block ? block_pointer(declaration) : namespace_pointer(declaration);
    // Keeps the positions of all later lines. A literal in the type contains its line breaks.
    const auto lines = std::ranges::count(subject_.source.substr(begin, end - begin), '\n');
    for (auto line = std::ranges::count(text, '\n'); line < lines; ++line) text += is_macro_ ? "\\\n" : "\n";
    edits_.push_back({begin, end - begin, text});
  }

  const Subject& subject_;
  const Stream& stream_;
  Edits& edits_;
  bool is_macro_;
};

}  // namespace

void find_shared_arrays(const Subject& subject, const Stream& stream, Edits& edits) {
  ArrayFinder(subject, stream, edits).run();
}

}  // namespace lockstep::translate
