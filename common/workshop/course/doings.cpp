#include "course/doings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <utility>

namespace lockstep::course {
namespace {

// Blanks what lies between `open` and the next `close`, both included, as often as it occurs.
void blank_between(std::string& line, std::string_view open, char close) {
  for (std::size_t begin = 0; (begin = line.find(open, begin)) != std::string::npos;) {
    const std::size_t end = line.find(close, begin + open.size());
    if (end == std::string::npos) return;
    line.replace(begin, end + 1 - begin, end + 1 - begin, ' ');
  }
}

bool begins_word(char character) { return std::isalnum(static_cast<unsigned char>(character)) != 0; }

bool continues_word(char character) {
  constexpr std::string_view kInside = "_'.,/+-";
  const bool is_ascii = (static_cast<unsigned char>(character) & 0x80U) == 0;
  return begins_word(character) || !is_ascii || kInside.find(character) != std::string_view::npos;
}

std::size_t words_in(std::string line) {
  blank_between(line, "<", '>');
  blank_between(line, "](", ')');
  std::size_t count = 0;
  for (auto at = line.begin(); (at = std::find_if(at, line.end(), begins_word)) != line.end(); ++count)
    at = std::find_if_not(at, line.end(), continues_word);
  return count;
}

// The doings that a visible line names, from left to right. A panel that is shown and linked is one doing.
void append_named(const std::string& line, std::size_t index, std::vector<Doing>& doings) {
  static const std::array<std::pair<DoingKind, std::regex>, 3> kForms = {{
      {DoingKind::kExercise, std::regex(R"(\./lockstep start (\d\d\.\d+))")},
      {DoingKind::kCase, std::regex(R"(\./lockstep case (\d\d\.[A-Z]))")},
      {DoingKind::kPanel, std::regex(R"(\]\([^)]*site/panels/(\w+)\.html[^)]*\))")},
  }};
  std::vector<std::pair<std::ptrdiff_t, Doing>> found;
  for (const auto& [kind, form] : kForms) {
    for (std::sregex_iterator match(line.begin(), line.end(), form), end; match != end; ++match)
      found.push_back({match->position(), {kind, (*match)[1], index}});
  }
  std::ranges::sort(found, {}, [](const auto& each) { return each.first; });
  for (auto& [column, doing] : found) {
    const bool is_same_panel = doing.kind == DoingKind::kPanel && !doings.empty() &&
                               doings.back().kind == DoingKind::kPanel && doings.back().name == doing.name;
    if (!is_same_panel) doings.push_back(std::move(doing));
  }
}

}  // namespace

std::vector<Doing> doings_in(const MarkdownFile& lesson) {
  static const std::regex kQuestion(R"(predict id=(\w+).*)");
  std::vector<Doing> doings;
  for (std::size_t index = 0; index < lesson.visible.size(); ++index) {
    const bool is_in_block = lesson.visible[index].size() != lesson.text.lines[index].size();
    if (is_in_block) continue;
    const auto comment = comment_on(lesson.text.lines[index]);
    std::smatch match;
    if (comment && std::regex_match(*comment, match, kQuestion)) {
      doings.push_back({DoingKind::kPrediction, match[1], index});
    } else {
      append_named(lesson.visible[index], index, doings);
    }
  }
  return doings;
}

std::vector<std::size_t> words_by_line(const MarkdownFile& file) {
  std::vector<std::size_t> counts;
  counts.reserve(file.visible.size());
  for (const std::string& line : file.visible) counts.push_back(words_in(line));
  return counts;
}

}  // namespace lockstep::course
