// (void*)kernel: the address loses the kernel's type, so the emulator is told how to call it.
#include <optional>

#include "base/text.hpp"
#include "emulator/translate/edits.hpp"

namespace lockstep::translate {
namespace {

// Index past `[const] void [const] *` at `index`; nothing for another type.
std::optional<std::size_t> past_void_pointer(const Stream& stream, std::size_t index) {
  std::size_t at = index;
  if (is_word(stream, at, "const")) ++at;
  if (!is_word(stream, at, "void")) return std::nullopt;
  ++at;
  if (is_word(stream, at, "const")) ++at;
  if (!is_mark(stream, at, "*")) return std::nullopt;
  return at + 1;
}

// Index of the first token of the expression that the cast at `index` converts to void*; nothing if it is not one.
std::optional<std::size_t> cast_operand(const Stream& stream, std::size_t index) {
  if (is_mark(stream, index, "(")) {
    const auto past = past_void_pointer(stream, index + 1);
    return past && is_mark(stream, *past, ")") ? std::optional(*past + 1) : std::nullopt;
  }
  if (!is_word(stream, index, "reinterpret_cast") || !is_mark(stream, index + 1, "<")) return std::nullopt;
  const auto past = past_void_pointer(stream, index + 2);
  const bool is_cast = past && is_mark(stream, *past, ">") && is_mark(stream, *past + 1, "(");
  return is_cast ? std::optional(*past + 2) : std::nullopt;
}

// The qualified name of a kernel, with template arguments.
struct Name {
  std::size_t begin = 0;  // index of the first token
  std::size_t end = 0;    // past the last one
};

std::optional<Name> kernel_at(const Subject& subject, const Stream& stream, std::size_t index) {
  Name name{index, index};
  std::size_t at = is_mark(stream, index, "&") ? index + 1 : index;
  if (is_mark(stream, at, "::")) ++at;
  while (at + 1 < stream.size() && stream[at].kind == TokenKind::kIdentifier && is_mark(stream, at + 1, "::")) at += 2;
  if (at >= stream.size() || stream[at].kind != TokenKind::kIdentifier) return std::nullopt;
  const auto known = subject.kernels.find(stream[at].text);
  if (known == subject.kernels.end() || known->second.is_overloaded) return std::nullopt;
  ++at;
  if (known->second.is_template) {
    const auto close = is_mark(stream, at, "<") ? closing_angle_of(stream, at) : std::nullopt;
    if (!close) return std::nullopt;
    at = *close + 1;
  }
  name.end = at;
  for (const char* follower : {",", ")", ";", "}"}) {
    if (is_mark(stream, at, follower)) return name;
  }
  return std::nullopt;
}

}  // namespace

void find_kernel_pointers(const Subject& subject, const Stream& stream, Edits& edits) {
  for (std::size_t i = body_begin(stream); i < stream.size(); ++i) {
    const auto operand = cast_operand(stream, i);
    const auto name = operand ? kernel_at(subject, stream, *operand) : std::nullopt;
    if (!name) continue;
    const std::size_t shown = is_mark(stream, name->begin, "&") ? name->begin + 1 : name->begin;
    const std::span<const Token> tokens(stream.begin() + static_cast<std::ptrdiff_t>(shown),
                                        stream.begin() + static_cast<std::ptrdiff_t>(name->end));
    edits.push_back(
        {stream[name->begin].begin, 0, concat("::lockstep::emulator::known_kernel(\"", one_line(tokens), "\", ")});
    edits.push_back({stream[name->end - 1].end(), 0, ")"});
  }
}

}  // namespace lockstep::translate
