#include "data/sentence_piece_model.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <unordered_set>

#include "base/error.hpp"
#include "base/utf8.hpp"

namespace lockstep::data {
namespace {

// One field of a Protocol Buffers message.
struct Field {
  std::uint64_t number = 0;
  enum class Type { kNumber, kBytes } type = Type::kNumber;
  std::uint64_t value = 0;  // kNumber; the bits of a fixed-width field
  std::string_view bytes;   // kBytes
};

// Reads the fields of a message one after the other.
class Fields {
 public:
  Fields(std::string_view message, const std::string& name) : rest_(message), name_(name) {}

  [[nodiscard]] bool has_next() const noexcept { return !rest_.empty(); }

  Field next() {
    const std::uint64_t tag = varint();
    Field field{.number = tag >> 3, .bytes = {}};
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 5:
        field.value = fixed(4);
        break;
      case 2:
        field.type = Field::Type::kBytes;
        field.bytes = take(varint());
        break;
      default:
        fail("a field of an unknown type");
    }
    if (field.number == 0) fail("a field without a number");
    return field;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(concat(name_, " is not a SentencePiece model: ", what));
  }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) fail("it ends inside a field");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number of more than 64 bits");
  }

  std::uint64_t fixed(std::size_t width) {
    const std::string_view bytes = take(width);
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }

  std::string_view rest_;
  const std::string& name_;
};

// Calls visit(fields, field) for each field of a message.
void for_each_field(std::string_view message, const std::string& name,
                    const std::function<void(const Fields&, const Field&)>& visit) {
  Fields fields(message, name);
  while (fields.has_next()) {
    const Field field = fields.next();
    visit(fields, field);
  }
}

enum PieceType : std::uint64_t { kNormal = 1, kUnknown = 2, kUserDefined = 4, kByte = 6 };

struct Piece {
  std::string_view text;
  float score = 0;
  std::uint64_t type = kNormal;
};

Piece read_piece(std::string_view message, const std::string& name) {
  Piece piece;
  for_each_field(message, name, [&](const Fields& fields, const Field& field) {
    if ((field.number == 1) != (field.type == Field::Type::kBytes)) fields.fail("a piece with a field of a wrong type");
    if (field.number == 1) piece.text = field.bytes;
    if (field.number == 2) piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (field.number == 3) piece.type = field.value;
  });
  return piece;
}

void check_piece(const Piece& piece, const Fields& fields) {
  constexpr std::size_t kLongestPiece = 8000;
  constexpr float kLargestScore = 1e7F;
  if (piece.text.empty() || piece.text.size() > kLongestPiece) fields.fail("a piece that is empty or too long");
  if (piece.text.find('\0') != std::string_view::npos || !is_utf8(piece.text)) fields.fail("a piece that is not text");
  if (!(std::abs(piece.score) <= kLargestScore)) fields.fail("a piece whose score is not a usable number");
  if (piece.type < kNormal || piece.type > kByte) fields.fail("a piece of an unknown type");
}

// The format of SentencePiece's table of normalizations: the size of a double array, its units, and zero-terminated
// texts. A unit sends the next byte into a block of 256 units, and a leaf gives the offset of its text.
void check_table(std::string_view table, const Fields& fields) {
  constexpr std::size_t kUnitBytes = 4;
  const auto word_at = [table](std::size_t at) {
    std::uint32_t word = 0;
    std::memcpy(&word, table.data() + at, kUnitBytes);
    return word;
  };
  if (table.empty()) return;
  const std::size_t unit_bytes = table.size() > kUnitBytes ? word_at(0) : 0;
  const std::size_t text_begin = kUnitBytes + unit_bytes;
  if (unit_bytes == 0 || unit_bytes % kUnitBytes != 0 || text_begin >= table.size() || table.back() != '\0') {
    fields.fail("a table of normalizations of a wrong size");
  }
  const std::size_t units = unit_bytes / kUnitBytes, text_bytes = table.size() - text_begin;
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint32_t unit = word_at(kUnitBytes * (i + 1));
    const bool is_leaf = unit >> 31 != 0;
    const std::size_t offset = static_cast<std::size_t>(unit >> 10) << ((unit & 0x200U) >> 6);
    const bool is_inside = is_leaf ? (unit & 0x7FFFFFFFU) < text_bytes : ((i ^ offset) | 0xFFU) < units;
    if (!is_inside) fields.fail("a table of normalizations that points outside of itself");
  }
}

void check_normalizer(std::string_view message, const std::string& name) {
  for_each_field(message, name, [](const Fields& fields, const Field& field) {
    if (field.number != 2) return;
    if (field.type != Field::Type::kBytes) fields.fail("a table of normalizations of a wrong type");
    check_table(field.bytes, fields);
  });
}

// Whether the model has pieces for bytes.
bool read_byte_fallback(std::string_view message, const std::string& name) {
  constexpr std::uint64_t kModelType = 3, kByteFallback = 35, kModelTypes = 4;
  bool has_bytes = false;
  for_each_field(message, name, [&](const Fields& fields, const Field& field) {
    if (field.number != kModelType && field.number != kByteFallback) return;
    if (field.type != Field::Type::kNumber) fields.fail("training options of a wrong type");
    if (field.number == kByteFallback) has_bytes = field.value != 0;
    if (field.number == kModelType && (field.value < 1 || field.value > kModelTypes)) {
      fields.fail("an unknown type of model");
    }
  });
  return has_bytes;
}

}  // namespace

void check_sentence_piece_model(std::string_view model, const std::string& name) {
  std::unordered_set<std::string_view> texts;
  std::set<std::uint64_t> seen;
  std::size_t unknowns = 0, bytes = 0;
  bool has_bytes = false;
  const Fields whole(model, name);
  for_each_field(model, name, [&](const Fields& fields, const Field& field) {
    if (field.number > 5) return;  // extensions
    if (field.type != Field::Type::kBytes) fields.fail("a field of a wrong type");
    if (field.number != 1 && !seen.insert(field.number).second) fields.fail("a part that occurs twice");
    if (field.number == 2) has_bytes = read_byte_fallback(field.bytes, name);
    if (field.number == 3 || field.number == 5) check_normalizer(field.bytes, name);
    if (field.number != 1) return;
    const Piece piece = read_piece(field.bytes, name);
    check_piece(piece, fields);
    if (!texts.insert(piece.text).second) fields.fail(concat("the piece '", piece.text, "' occurs twice"));
    unknowns += piece.type == kUnknown ? 1 : 0;
    bytes += piece.type == kByte ? 1 : 0;
  });
  if (unknowns != 1) whole.fail(concat(unknowns, " pieces for the unknown instead of one"));
  if (bytes != (has_bytes ? 256U : 0U)) whole.fail(concat(bytes, " pieces for bytes, not as its options say"));
}

}  // namespace lockstep::data
