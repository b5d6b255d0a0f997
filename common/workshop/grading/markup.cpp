#include "grading/markup.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/plain_text.hpp"
#include "base/replace.hpp"

namespace lockstep::grading {
namespace {

constexpr std::size_t kMostOfLine = 1000;
constexpr std::size_t kMostOfBlock = 100'000;

// Characters with which a formula begins in a spreadsheet; some Asian editions accept the wide ones.
bool begins_formula(std::string_view text) {
  constexpr std::string_view kSigns[] = {"=", "+", "-", "@", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  text.remove_prefix(std::min(text.find_first_not_of(" '\""), text.size()));
  return std::ranges::any_of(kSigns, [&](std::string_view sign) { return text.starts_with(sign); });
}

}  // namespace

std::string escaped(const std::string& text) {
  return escape_html(plain_text(text, std::numeric_limits<std::size_t>::max(), LineBreaks::kKeep));
}

std::string markdown_line(const std::string& text) {
  constexpr std::string_view kSigns = "\\`*_{}[]<>#!|~&^$@";
  std::string result;
  const std::string plain = plain_text(text, kMostOfLine, LineBreaks::kReplace);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    // Many read the file as it is, so what is harmless stays: "elements: uneven (P-1)".
    const bool begins_address = plain[i] == ':' && i + 1 < plain.size() && plain[i + 1] != ' ';
    const bool begins_target = plain[i] == '(' && i > 0 && plain[i - 1] == ']';
    if (begins_address || begins_target || kSigns.find(plain[i]) != std::string_view::npos) result += '\\';
    result += plain[i];
  }
  const bool is_list = result.starts_with('-') || result.starts_with('+') || result.starts_with('=');
  return is_list ? "\\" + result : result;
}

std::string markdown_block(const std::string& text) {
  const std::string plain = plain_text(text, kMostOfBlock, LineBreaks::kKeep);
  std::size_t longest = 0, row = 0;
  for (const char letter : plain) {
    row = letter == '`' ? row + 1 : 0;
    longest = std::max(longest, row);
  }
  const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
  return fence + "text\n" + plain + (plain.ends_with('\n') ? "" : "\n") + fence + "\n";
}

std::string csv_cell(const std::string& text) {
  std::string cell = plain_text(text, kMostOfLine, LineBreaks::kReplace);
  std::ranges::replace(cell, ';', ',');
  if (begins_formula(cell)) cell.insert(0, "'");
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  return "\"" + replaced(cell, "\"", "\"\"") + "\"";
}

}  // namespace lockstep::grading
