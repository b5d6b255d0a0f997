#include "exercise_tool/reading.hpp"

#include <optional>
#include <regex>

#include "base/text.hpp"
#include "course/markdown.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReadFirst = "Read first:";

// The first paragraph below the title if it is in italics, else nothing.
std::string italic_paragraph(const course::MarkdownFile& task) {
  std::string paragraph;
  for (const std::string& line : task.visible) {
    const bool is_heading = line.starts_with('#');
    if (paragraph.empty() && (line.empty() || is_heading)) continue;
    if (line.empty()) break;
    paragraph += (paragraph.empty() ? "" : " ") + line;
  }
  const bool is_italic = paragraph.starts_with('*') && !paragraph.starts_with("**") && paragraph.ends_with('*');
  return is_italic ? paragraph.substr(1, paragraph.size() - 2) : "";
}

// The last heading of `page` that `text` quotes.
std::optional<std::size_t> quoted_heading(const course::MarkdownFile& page, const std::string& text) {
  static const std::regex kQuoted("\"([^\"]+)\"");
  std::optional<std::size_t> index;
  for (std::sregex_iterator match(text.begin(), text.end(), kQuoted), end; match != end; ++match) {
    if (const auto found = course::index_of_anchor(page, course::anchor_of((*match)[1].str()))) index = found;
  }
  return index;
}

// The place to which a link leads, such as "chapters/02_x/README.md:117"; empty if it is not a page of the course.
// `before` is the text before the link.
std::string place_of(const fs::path& root, const course::MarkdownFile& task, const std::string& target,
                     const std::string& before) {
  const std::size_t hash = std::min(target.find('#'), target.size());
  const std::string path = course::resolve_path(task, target.substr(0, hash));
  if (!path.ends_with(".md") || !fs::exists(root / path)) return "";
  const course::MarkdownFile page = course::parse_markdown(course::read_text_file(root / path, path));
  const auto index = hash < target.size() ? course::index_of_anchor(page, std::string_view(target).substr(hash + 1))
                                          : quoted_heading(page, before);
  return index ? page.text.place(*index) : path;
}

}  // namespace

Reading reading_of(const fs::path& root, const Exercise& exercise) {
  static const std::regex kLink(R"(\[[^\]]*\]\(([^)\s]+)\))");
  const fs::path path = exercise.in("exercises") / "TASK.md";
  Reading reading;
  if (!fs::exists(root / path)) return reading;
  const course::MarkdownFile task = course::parse_markdown(course::read_text_file(root / path, path.string()));
  const std::string paragraph = italic_paragraph(task);
  const std::size_t begin = paragraph.find(kReadFirst);
  if (begin == std::string::npos) return reading;
  const std::string text = paragraph.substr(begin + kReadFirst.size());
  reading.text = course::trim(course::without_markup(text));
  for (std::sregex_iterator match(text.begin(), text.end(), kLink), end; match != end; ++match) {
    const std::string place = place_of(root, task, (*match)[1], match->prefix());
    if (!place.empty()) reading.places.push_back(place);
  }
  return reading;
}

}  // namespace lockstep::exercise
