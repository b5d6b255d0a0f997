#include "course/side_by_side.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"

namespace lockstep::course {

namespace {

constexpr int kNumberColumns = 4;  // line numbers, right-aligned
constexpr int kSignColumns = 3;    // " + "
constexpr std::string_view kReset = "\033[0m", kBold = "\033[1m", kDim = "\033[2m";

struct RowLook {
  char sign;
  std::string_view base_colour;
  std::string_view derived_colour;
};

RowLook look_of(RowKind kind) {
  switch (kind) {
    case RowKind::kNew:
      return {'+', "", "\033[32m"};
    case RowKind::kChanged:
      return {'~', "\033[33m", "\033[33m"};
    case RowKind::kGone:
      return {'-', "\033[31m", "\033[2;31m"};
    case RowKind::kSame:
      break;
  }
  return {' ', "", ""};
}

/// `text` in exactly `columns` columns: padded with blanks, or cut with an ellipsis.
std::string fit(std::string_view text, std::size_t columns) {
  const std::size_t wide = column_count(text);
  if (wide <= columns) return std::string(text) + std::string(columns - wide, ' ');
  std::size_t end = 0;
  std::size_t used = 0;
  while (used + 1 < columns) {
    ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) ++end;
    ++used;
  }
  return std::string(text.substr(0, end)) + "…";
}

class Painter {
 public:
  Painter(const DerivedPair& pair, const ListingOptions& options)
      : pair_(pair),
        colours_(options.colours),
        text_columns_(static_cast<std::size_t>((std::max(options.width, 60) - kSignColumns) / 2 - kNumberColumns - 1)) {
  }

  void title() {
    const std::size_t half = text_columns_ + kNumberColumns + 1;
    out_ += paint(kBold, fit(pair_.base.name, half) + "   " + pair_.derived.name) + "\n";
  }

  void row(const AlignedRow& row) {
    const RowLook look = look_of(row.kind);
    std::string line = cell(pair_.base, row.base_index, look.base_colour);
    line += paint(look.derived_colour, std::string{' ', look.sign, ' '});
    line += cell(pair_.derived, row.derived_index, look.derived_colour);
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += line + "\n";
  }

  void summary(const Alignment& alignment) {
    const DerivedHeader& header = pair_.header;
    out_ += "\n";
    out_ += paint(kBold, concat(pair_.derived.name, ": ", alignment.new_count, " new (at most ", header.new_budget,
                                "), ", alignment.changed_count, " changed (at most ", header.changed_budget, ")"));
    out_ += "\n";
    for (const std::string& problem : alignment.problems) out_ += paint("\033[31m", problem) + "\n";
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  [[nodiscard]] std::string paint(std::string_view colour, const std::string& text) const {
    if (colours_ == ColourMode::kPlain || colour.empty()) return text;
    return concat(colour, text, kReset);
  }

  [[nodiscard]] std::string cell(const TextFile& file, int index, std::string_view colour) const {
    if (index < 0) return std::string(text_columns_ + kNumberColumns + 1, ' ');
    std::string number = std::to_string(index + 1);
    if (number.size() < kNumberColumns) number.insert(0, kNumberColumns - number.size(), ' ');
    return paint(kDim, number) + " " + paint(colour, fit(file.lines[static_cast<std::size_t>(index)], text_columns_));
  }

  const DerivedPair& pair_;
  ColourMode colours_;
  std::size_t text_columns_;
  std::string out_;
};

}  // namespace

std::string render_side_by_side(const DerivedPair& pair, const ListingOptions& options) {
  const Alignment alignment = align_derived_file(pair.base, pair.derived, pair.header);
  Painter painter(pair, options);
  painter.title();
  for (const AlignedRow& row : alignment.rows) painter.row(row);
  painter.summary(alignment);
  return painter.take();
}

}  // namespace lockstep::course
