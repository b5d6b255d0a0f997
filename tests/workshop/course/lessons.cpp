#include "lessons.hpp"

#include <algorithm>
#include <array>
#include <regex>

#include "base/text.hpp"
#include "course/derived_file.hpp"
#include "course/predictions.hpp"
#include "measured.hpp"

namespace lockstep::checks {

namespace {

namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

bool is_outside(const std::string& target) {
  return target.find("://") != std::string::npos || target.starts_with("mailto:");
}

bool is_ellipsis(std::string_view line) {
  const std::string_view text = course::trim(line);
  return text == "…" || text == "// …";
}

Lines without_common_indentation(Lines lines) {
  std::size_t indentation = std::string::npos;
  for (const std::string& line : lines) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos && !is_ellipsis(line)) indentation = std::min(indentation, first);
  }
  for (std::string& line : lines) {
    const std::size_t first = line.find_first_not_of(' ');
    line = first == std::string::npos ? "" : line.substr(std::min(indentation, first));
  }
  return lines;
}

/// True if excerpt[i..] shows lines[j..], with an ellipsis matching as few lines as possible.
bool matches_from(const Lines& excerpt, std::size_t i, const Lines& lines, std::size_t j) {
  for (; i < excerpt.size() && !is_ellipsis(excerpt[i]); ++i, ++j) {
    if (j == lines.size() || excerpt[i] != lines[j]) return false;
  }
  if (i == excerpt.size()) return j == lines.size();
  for (; j <= lines.size(); ++j) {
    if (matches_from(excerpt, i + 1, lines, j)) return true;
  }
  return false;
}

std::string check_target(const fs::path& root, const course::MarkdownFile& file, const std::string& target) {
  const std::size_t hash = target.find('#');
  const std::string path = course::resolve_path(file, target.substr(0, hash));
  if (path.starts_with("..")) return "leaves the project";
  if (!fs::exists(root / path)) return "does not exist";
  if (hash == std::string::npos) return "";
  if (const auto range = course::parse_line_range(target)) {
    const std::size_t count = read_project_file(root, path).lines.size();
    const bool is_valid = range->first >= 1 && range->first <= range->last && range->last <= count;
    return is_valid ? "" : concat("names lines that do not exist; the file has ", count);
  }
  const course::MarkdownFile other = course::parse_markdown(read_project_file(root, path));
  return course::index_of_anchor(other, target.substr(hash + 1)) ? "" : "names a heading that does not exist";
}

struct Forbidden {
  std::regex pattern;
  std::string_view what;
};

const std::vector<Forbidden>& forbidden() {
  static const std::vector<Forbidden> kForbidden = {
      {std::regex(R"(\[\^[^\]]+\])"), "a footnote, which Doxygen does not render"},
      {std::regex(R"(^\s*>\s*\[!\w+\])"), "an alert, which Doxygen does not render"},
      {std::regex(R"(^\s*[-*+]\s+\[[ xX]\]\s)"), "a task list, which Doxygen does not render"},
      {std::regex(R"(\$\$|(^|\s)\$[^\s$][^$]*\$(\s|[.,;)]|$))"), "a formula, which Doxygen does not render"},
      {std::regex(R"((^|[\s(])[@\\](param|return|ref|file|page|brief|code|note|see|link|image|section|throws)\b)"),
       "a Doxygen command outside of `code`"},
      {std::regex(R"((^|\s):[a-z_]+:(\s|$))"), "an emoji code, which Doxygen does not render"},
  };
  return kForbidden;
}

/// The first HTML tag of `line` that GitHub or Doxygen does not render; empty for none.
std::string unknown_tag(const std::string& line) {
  static const std::regex kTag(R"(</?([A-Za-z][A-Za-z0-9_]*)[^<>]*>)");
  constexpr std::array<std::string_view, 11> kKnown = {"a",   "b", "br",  "details", "em", "img",
                                                       "kbd", "p", "sub", "summary", "sup"};
  for (std::sregex_iterator match(line.begin(), line.end(), kTag); match != std::sregex_iterator(); ++match) {
    const bool is_link = match->str().find("://") != std::string::npos;
    if (!is_link && std::ranges::find(kKnown, (*match)[1].str()) == kKnown.end()) return match->str();
  }
  return "";
}

/// Checks the line above an excerpt, `[a.cpp, lines 3 to 5](a.cpp#L3-L5)`: line numbers in its text must be the
/// range's.
template <typename Range>
std::string with_label_of(const std::string& line, const Range& range) {
  static const std::regex kLabel(R"(, lines \d+ to \d+\])");
  return std::regex_replace(line, kLabel, concat(", lines ", range.first, " to ", range.last, "]"));
}

std::string check_block(const fs::path& root, const course::MarkdownFile& file, const course::FencedBlock& block,
                        bool is_lesson) {
  const auto range = course::line_range_in(block.line_above);
  if (!range) {
    const bool is_sketch = course::comment_on(block.line_above) == "sketch";
    return is_lesson && is_cpp(block) && !is_sketch
               ? "shows C++ without a link to its lines above it (or <!-- sketch -->)"
               : "";
  }
  const std::string path = course::resolve_path(file, range->path);
  if (!fs::exists(root / path)) return "";  // check_links reports it
  const Lines lines = read_project_file(root, path).lines;
  if (with_label_of(block.line_above, *range) != block.line_above) {
    return concat("is introduced by other line numbers than its link's, ", range->first, " to ", range->last,
                  " (update_lessons)");
  }
  if (shows_lines(block.lines, lines, range->first, range->last)) return "";
  return concat("is not what ", path, " says in lines ", range->first, " to ", range->last,
                " (if the code has only moved: update_lessons)");
}

/// The excerpt's range in `lines`, if it occurs exactly once.
std::optional<course::LineRange> find_excerpt(const Lines& excerpt, const Lines& lines) {
  std::optional<course::LineRange> found;
  for (std::size_t first = 1; first <= lines.size(); ++first) {
    for (std::size_t last = first + excerpt.size() - 1; last <= lines.size(); ++last) {
      if (!shows_lines(excerpt, lines, first, last)) {
        if (std::ranges::none_of(excerpt, is_ellipsis)) break;
        continue;
      }
      if (found) return std::nullopt;
      found = course::LineRange{"", first, last};
      break;
    }
  }
  return found;
}

}  // namespace

bool shows_lines(const Lines& excerpt, const Lines& lines, std::size_t first, std::size_t last) {
  if (first < 1 || last > lines.size() || first > last) return false;
  const Lines shown(lines.begin() + static_cast<std::ptrdiff_t>(first - 1),
                    lines.begin() + static_cast<std::ptrdiff_t>(last));
  return matches_from(without_common_indentation(excerpt), 0, without_common_indentation(shown), 0);
}

std::vector<course::MarkdownFile> chapter_lessons(const fs::path& root) {
  std::vector<course::MarkdownFile> lessons;
  for (const std::string& path : select_files(project_files(root), "chapters", {".md"})) {
    const fs::path file = path;
    const bool is_lesson = file.filename() == "README.md" && file.parent_path().parent_path() == "chapters";
    if (is_lesson) lessons.push_back(course::parse_markdown(read_project_file(root, path)));
  }
  return lessons;
}

bool is_cpp(const course::FencedBlock& block) {
  return block.language == "cpp" || block.language == "c++" || block.language == "cuda";
}

Problems check_links(const fs::path& root, const course::MarkdownFile& file) {
  Problems problems;
  for (const course::Link& link : file.links) {
    if (is_outside(link.target)) continue;
    const std::string problem = check_target(root, file, link.target);
    if (!problem.empty())
      problems.push_back(concat(file.text.place(link.index), ": the link to ", link.target, " ", problem));
  }
  return problems;
}

Problems check_subset(const course::MarkdownFile& file) {
  Problems problems;
  for (std::size_t index = 0; index < file.prose.size(); ++index) {
    const std::string& line = file.prose[index];
    for (const Forbidden& each : forbidden()) {
      if (std::regex_search(line, each.pattern)) problems.push_back(concat(file.text.place(index), " has ", each.what));
    }
    // GitHub does not render Markdown inside this tag.
    if (line.find("<summary>") != std::string::npos && file.text.lines[index].find('`') != std::string::npos)
      problems.push_back(concat(file.text.place(index), " has `code` in a <summary>, which GitHub does not render"));
    const std::string tag = unknown_tag(line);
    if (!tag.empty())
      problems.push_back(concat(file.text.place(index), " has ", tag, ", which is not rendered everywhere"));
  }
  for (const course::FencedBlock& block : file.blocks) {
    if (block.language == "mermaid" || block.language == "math") {
      problems.push_back(concat(file.text.place(block.first_index), " has a ", block.language, " block; use an SVG"));
    }
  }
  return problems;
}

Problems check_excerpts(const fs::path& root, const course::MarkdownFile& file, bool is_lesson) {
  Problems problems;
  for (const course::FencedBlock& block : file.blocks) {
    const std::string problem = check_block(root, file, block, is_lesson);
    if (!problem.empty()) problems.push_back(concat(file.text.place(block.first_index), " ", problem));
  }
  return problems;
}

Problems check_counts(const fs::path& root, const course::MarkdownFile& file) {
  Problems problems;
  const Lines& lines = file.text.lines;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const auto comment = course::comment_on(lines[index]);
    if (!comment || !comment->starts_with("counts:")) continue;
    const std::string path =
        course::resolve_path(file, std::string(course::trim(std::string_view(*comment).substr(7))));
    const auto pair = fs::exists(root / path) ? course::load_derived_pair(root, path) : std::nullopt;
    if (!pair) {
      problems.push_back(concat(file.text.place(index), " counts ", path, ", which is no derived file"));
      continue;
    }
    std::string paragraph;
    for (std::size_t next = index + 1; next < lines.size() && !course::trim(lines[next]).empty(); ++next) {
      paragraph += " " + lines[next];
    }
    const auto counted = course::align_derived_file(pair->base, pair->derived, pair->header);
    for (const std::string& phrase :
         {concat(" ", counted.new_count, " new"), concat(" ", counted.changed_count, " changed")}) {
      if (paragraph.find(phrase) != std::string::npos) continue;
      problems.push_back(
          concat(file.text.place(index), ": ", path, " has", phrase, " lines; the paragraph does not say so"));
    }
  }
  return problems;
}

Problems check_predictions(const course::MarkdownFile& file) try {
  Problems problems;
  for (const course::Prediction& each : course::predictions_in(file)) {
    if (!course::shown_value(each))
      problems.push_back(concat(file.text.place(each.index), ": the block below shows no answer to ", each.id));
  }
  return problems;
} catch (const std::exception& error) {  // also from a regular expression
  return {error.what()};
}

Problems check_lessons(const fs::path& root) {
  Problems problems;
  for (const std::string& path : select_files(project_files(root), "", {".md"})) {
    const course::MarkdownFile file = course::parse_markdown(read_project_file(root, path));
    const bool is_lesson = path.starts_with("chapters/");
    for (const Problems& found : {check_links(root, file), check_subset(file), check_excerpts(root, file, is_lesson),
                                  check_counts(root, file), check_measured(root, file), check_predictions(file),
                                  is_lesson || path == "README.md" ? check_unmarked_tables(file) : Problems{}}) {
      problems.insert(problems.end(), found.begin(), found.end());
    }
  }
  return problems;
}

Lines with_updates(const fs::path& root, const course::MarkdownFile& file) {
  Lines lines = with_measured_values(root, file).lines;
  for (const course::FencedBlock& block : file.blocks) {
    const auto range = course::line_range_in(block.line_above);
    if (!range || !fs::exists(root / course::resolve_path(file, range->path))) continue;
    const Lines code = read_project_file(root, course::resolve_path(file, range->path)).lines;
    std::string& line = lines[block.index_above];
    if (shows_lines(block.lines, code, range->first, range->last)) {
      line = with_label_of(line, *range);
      continue;
    }
    const auto found = find_excerpt(block.lines, code);
    if (!found) continue;
    line = with_label_of(line, *found);
    const std::size_t begin = line.rfind("#L");
    const std::size_t end = line.find(')', begin);
    line.replace(begin, end - begin, concat("#L", found->first, "-L", found->last));
  }
  return lines;
}

}  // namespace lockstep::checks
