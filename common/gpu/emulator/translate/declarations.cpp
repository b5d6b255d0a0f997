#include "emulator/translate/declarations.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "emulator/translate/token_walk.hpp"

namespace lockstep::translate {
namespace {

// Words in a kernel's declaration that take an argument in parentheses but are not its name.
bool takes_argument(std::string_view word) {
  constexpr std::array<std::string_view, 8> kWords = {"__launch_bounds__", "__cluster_dims__", "__maxnreg__",
                                                      "__attribute__",     "alignas",          "__align__",
                                                      "__block_size__",    "__declspec"};
  return std::ranges::find(kWords, word) != kWords.end();
}

// Index of a kernel's name, for `__global__` at `index`: the word before the parameters.
std::optional<std::size_t> kernel_name_at(const Stream& stream, std::size_t index) {
  for (std::size_t i = index + 1; i < stream.size() && i < index + 64; ++i) {  // 64: a declaration is short
    const Token& token = stream[i];
    if (token.kind == TokenKind::kIdentifier && takes_argument(token.text) && is_mark(stream, i + 1, "(")) {
      const auto close = closing_of(stream, i + 1);
      if (!close) return std::nullopt;
      i = *close;
    } else if (token.kind == TokenKind::kIdentifier && is_mark(stream, i + 1, "(")) {
      return i;
    } else if (token.text == ";" || token.text == "{" || token.text == "<") {
      return std::nullopt;  // "<": an instantiation or specialisation; its primary template is scanned anyway
    }
  }
  return std::nullopt;
}

void read_template(const Stream& stream, std::size_t statement, std::size_t kernel, KernelName& read) {
  std::size_t at = statement;
  while (at < kernel && !is_word(stream, at, "template")) ++at;
  if (!is_mark(stream, at + 1, "<")) return;
  const auto close = closing_angle_of(stream, at + 1);
  if (!close) return;
  read.is_template = true;
  std::size_t defaults = 0;
  for (std::size_t i = at + 2; i < *close; ++i) {
    if (is_mark(stream, i, "=")) ++defaults;
    if (is_mark(stream, i, ".")) read.has_pack = true;
  }
  const std::size_t all = count_pieces(stream, at + 2, *close);
  read.needed_arguments = all - std::min(defaults, all);
}

void add_kernel(KernelNames& kernels, const std::string& name, const KernelName& read) {
  const auto [entry, is_new] = kernels.try_emplace(name, read);
  if (is_new) return;
  KernelName& known = entry->second;
  const bool is_other = known.is_template != read.is_template || known.parameters != read.parameters ||
                        (known.is_defined && read.is_defined) || known.is_template;
  known.is_overloaded = known.is_overloaded || read.is_overloaded || is_other;
  known.is_defined = known.is_defined || read.is_defined;
  known.has_defaults = known.has_defaults || read.has_defaults;
}

void read_kernel(const Stream& stream, std::size_t statement, std::size_t index, KernelNames& kernels) {
  const auto name = kernel_name_at(stream, index);
  if (!name) return;
  const auto close = closing_of(stream, *name + 1);
  if (!close) return;
  KernelName read;
  read_template(stream, statement, index, read);
  read.parameters = count_pieces(stream, *name + 2, *close);
  read.is_defined = is_mark(stream, *close + 1, "{");
  for (std::size_t i = *name + 2; i < *close; ++i) read.has_defaults = read.has_defaults || is_mark(stream, i, "=");
  add_kernel(kernels, std::string(stream[*name].text), read);
}

void read_code(const Stream& code, Declarations& found) {
  std::size_t statement = 0, depth = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (is_mark(code, i, "{")) ++depth;
    if (is_mark(code, i, "}") && depth > 0) --depth;
    if (is_mark(code, i, ";") || is_mark(code, i, "{") || is_mark(code, i, "}")) statement = i + 1;
    if (is_word(code, i, "__global__")) read_kernel(code, statement, i, found.kernels);
    const bool is_call = is_word(code, i, "main") && is_mark(code, i + 1, "(");
    if (is_call && depth == 0 && i > 0 && code[i - 1].kind == TokenKind::kIdentifier) found.has_main = true;
  }
}

}  // namespace

Declarations scan_declarations(std::string_view source) {
  Declarations found;
  const std::vector<Token> tokens = split_tokens(source);
  const std::vector<Stream> streams = split_streams(tokens);
  read_code(streams.front(), found);
  for (const Token& token : tokens) {
    const bool is_quoted = token.kind == TokenKind::kHeaderName && token.text.size() > 2 && token.text.front() == '"' &&
                           token.text.back() == '"';
    if (!is_quoted) continue;
    found.inclusions.push_back({std::string(token.text.substr(1, token.text.size() - 2)), token.begin, token.end()});
  }
  return found;
}

void merge_kernels(KernelNames& all, const KernelNames& more) {
  for (const auto& [name, kernel] : more) add_kernel(all, name, kernel);
}

}  // namespace lockstep::translate
