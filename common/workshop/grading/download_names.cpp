#include "grading/download_names.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/plain_text.hpp"

namespace lockstep::grading {
namespace {

constexpr std::size_t kMostOfName = 100;
constexpr std::size_t kMostDigits = 18;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_letter(char letter) { return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'); }

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, is_digit);
}

// Canvas' names for students that it hides.
bool is_anonymous_id(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits &&
         std::ranges::all_of(text, [](char letter) { return is_digit(letter) || is_letter(letter); });
}

std::string shown_text(std::string_view text) { return plain_text(text, kMostOfName, LineBreaks::kReplace); }

std::vector<std::string_view> split_at_underscores(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find('_');
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string joined(const std::vector<std::string_view>& parts, std::size_t first, std::size_t end) {
  std::string text;
  for (std::size_t i = first; i < end; ++i) text += concat(i > first ? "_" : "", parts[i]);
  return text;
}

// The part before which the name ends: a number followed by a number and a file's name. 0: none.
std::size_t place_of_number(const std::vector<std::string_view>& parts) {
  for (std::size_t i = 1; i + 2 < parts.size(); ++i)
    if (is_number(parts[i]) && is_number(parts[i + 1])) return i;
  return 0;
}

std::optional<DownloadName> hidden_canvas_name(const std::vector<std::string_view>& parts) {
  const std::size_t at = parts.front() == "LATE" ? 1 : 0;
  if (parts.size() < at + 4 || parts[at] != "anon" || !is_anonymous_id(parts[at + 1]) || !is_number(parts[at + 2]))
    return std::nullopt;
  return DownloadName{.platform = Platform::kCanvas,
                      .student = concat("anon ", parts[at + 1]),
                      .kind = "file",
                      .file = shown_text(joined(parts, at + 3, parts.size())),
                      .upload = std::string(parts[at + 2]),
                      .is_late = at == 1};
}

}  // namespace

std::string DownloadName::key() const {
  std::string id = number.empty() ? student : number;
  std::ranges::replace(id, ' ', '_');
  return concat(platform == Platform::kMoodle ? "moodle_" : "canvas_", id);
}

std::optional<DownloadName> moodle_name(const std::string& name) {
  constexpr std::string_view kMark = "_assignsubmission_";
  const std::size_t mark = name.find(kMark);  // the first: a file's name may have another one
  if (mark == std::string::npos) return std::nullopt;
  const std::string_view who = std::string_view(name).substr(0, mark);
  const std::size_t before_number = who.rfind('_');
  if (before_number == std::string_view::npos || !is_number(who.substr(before_number + 1))) return std::nullopt;
  const std::string_view what = std::string_view(name).substr(mark + kMark.size());
  const std::size_t end_of_kind = std::min(what.find('_'), what.size());
  return DownloadName{.platform = Platform::kMoodle,
                      .student = shown_text(who.substr(0, before_number)),
                      .number = std::string(who.substr(before_number + 1)),
                      .kind = shown_text(what.substr(0, end_of_kind)),
                      .file = end_of_kind < what.size() ? shown_text(what.substr(end_of_kind + 1)) : ""};
}

std::optional<DownloadName> canvas_name(const std::string& name) {
  const std::vector<std::string_view> parts = split_at_underscores(name);
  if (auto hidden = hidden_canvas_name(parts)) return hidden;
  const std::size_t at = place_of_number(parts);
  if (at == 0) return std::nullopt;
  const bool is_late = at > 1 && parts[at - 1] == "LATE";
  return DownloadName{.platform = Platform::kCanvas,
                      .student = shown_text(joined(parts, 0, is_late ? at - 1 : at)),
                      .number = std::string(parts[at]),
                      .kind = "file",
                      .file = shown_text(joined(parts, at + 2, parts.size())),
                      .upload = std::string(parts[at + 1]),
                      .is_late = is_late};
}

std::string comparable_name(const std::string& name) {
  std::string result;
  for (const char letter : name) {
    if (letter >= 'A' && letter <= 'Z')
      result += static_cast<char>(letter - 'A' + 'a');
    else if (is_digit(letter) || is_letter(letter) || static_cast<unsigned char>(letter) >= 0x80)
      result += letter;
  }
  return result;
}

}  // namespace lockstep::grading
