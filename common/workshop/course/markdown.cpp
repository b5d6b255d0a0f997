#include "course/markdown.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <regex>
#include <utility>

namespace lockstep::course {

std::string fence_of(std::string_view line) {
  const std::string_view text = trim(line);
  if (!text.starts_with("```") && !text.starts_with("~~~")) return "";
  return std::string(text.substr(0, text.find_first_not_of(text[0])));
}

namespace {

/// `line` with its code spans, backticks included, replaced by blanks.
std::string without_code(std::string line) {
  std::size_t open = 0;
  while ((open = line.find('`', open)) != std::string::npos) {
    const std::size_t width = line.find_first_not_of('`', open) == std::string::npos
                                  ? line.size() - open
                                  : line.find_first_not_of('`', open) - open;
    const std::size_t close = line.find(std::string(width, '`'), open + width);
    if (close == std::string::npos) break;
    for (std::size_t i = open; i < close + width; ++i) line[i] = ' ';
    open = close + width;
  }
  return line;
}

std::string with_entities_decoded(std::string text) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Pair, 3> kEntities = {Pair{"&lt;", "<"}, Pair{"&gt;", ">"}, Pair{"&amp;", "&"}};
  for (const auto& [entity, character] : kEntities) {
    for (std::size_t at = 0; (at = text.find(entity, at)) != std::string::npos;)
      text.replace(at, entity.size(), character);
  }
  return text;
}

/// Blanks HTML comments, which may span lines. Their marks are those outside of `code`.
void blank_comments(MarkdownFile& file) {
  bool is_inside = false;
  for (std::size_t index = 0; index < file.prose.size(); ++index) {
    std::string& line = file.prose[index];
    const auto blank = [&](std::size_t at, std::size_t count) {
      line.replace(at, count, count, ' ');
      file.visible[index].replace(at, count, count, ' ');
    };
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (!is_inside && line.compare(at, 4, "<!--") == 0) is_inside = true;
      const bool is_end = is_inside && line.compare(at, 3, "-->") == 0;
      if (is_inside) blank(at, is_end ? 3 : 1);
      if (is_end) is_inside = false;
    }
  }
}

void read_blocks(MarkdownFile& file) {
  std::string open_fence;
  std::size_t index_above = 0;
  std::string line_above;
  for (std::size_t index = 0; index < file.text.lines.size(); ++index) {
    const std::string& line = file.text.lines[index];
    const std::string fence = fence_of(line);
    const bool is_inside = !open_fence.empty();
    const bool closes = is_inside && fence.starts_with(open_fence) && trim(line) == fence;
    if (closes) {
      open_fence.clear();
      line_above.clear();
    } else if (is_inside) {
      file.blocks.back().lines.push_back(line);
    } else if (!fence.empty()) {
      open_fence = fence;
      const std::string_view info = trim(trim(line).substr(fence.size()));
      file.blocks.push_back({std::string(info), index, {}, line_above, index_above});
    } else if (!trim(line).empty()) {
      line_above = line;
      index_above = index;
    }
    file.visible.push_back(is_inside || !fence.empty() ? "" : line);
    file.prose.push_back(without_code(file.visible.back()));
  }
}

void read_links(MarkdownFile& file) {
  static const std::regex kMarkdown(R"(\[[^\]]*\]\(([^)\s]+)(\s+"[^"]*")?\))"), kHtml(R"((src|href)="([^"]*)\")");
  for (std::size_t index = 0; index < file.prose.size(); ++index) {
    const std::string& line = file.prose[index];
    for (std::sregex_iterator match(line.begin(), line.end(), kMarkdown); match != std::sregex_iterator(); ++match) {
      file.links.push_back({(*match)[1], index});
    }
    for (std::sregex_iterator match(line.begin(), line.end(), kHtml); match != std::sregex_iterator(); ++match) {
      file.links.push_back({(*match)[2], index});
    }
  }
}

// Headings, and anchors written in HTML.
void read_anchors(MarkdownFile& file) {
  static const std::regex kNamed(R"re(<a id="([^"]+)"></a>)re");
  for (std::size_t index = 0; index < file.prose.size(); ++index) {
    const std::string& prose = file.prose[index];
    for (std::sregex_iterator match(prose.begin(), prose.end(), kNamed), end; match != end; ++match) {
      file.anchors.push_back({(*match)[1], index});
    }
    if (!prose.starts_with('#')) continue;
    const std::string& line = file.text.lines[index];
    file.anchors.push_back({anchor_of(trim(std::string_view(line).substr(line.find_first_not_of('#')))), index});
  }
}

}  // namespace

MarkdownFile parse_markdown(TextFile text) {
  MarkdownFile file{std::move(text), {}, {}, {}, {}, {}};
  read_blocks(file);
  blank_comments(file);
  read_links(file);
  read_anchors(file);
  return file;
}

std::string resolve_path(const MarkdownFile& file, const std::string& path) {
  if (path.empty()) return file.text.name;
  return (std::filesystem::path(file.text.name).parent_path() / path).lexically_normal().generic_string();
}

std::optional<LineRange> parse_line_range(std::string_view target) {
  static const std::regex kForm(R"(([^#]*)#L(\d{1,6})(-L(\d{1,6}))?)");
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_match(target.begin(), target.end(), match, kForm)) return std::nullopt;
  const std::size_t first = std::stoul(match[2]);
  return LineRange{match[1], first, match[4].matched ? std::stoul(match[4]) : first};
}

std::optional<LineRange> line_range_in(std::string_view line) {
  const std::size_t open = line.rfind("](");
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view target = line.substr(open + 2);
  return parse_line_range(target.substr(0, target.find(')')));
}

std::optional<std::string> comment_on(std::string_view line) {
  std::string_view text = trim(line);
  if (!text.starts_with("<!--") || !text.ends_with("-->") || text.size() < 7) return std::nullopt;
  text.remove_prefix(4);
  text.remove_suffix(3);
  return std::string(trim(text));
}

std::optional<std::size_t> index_of_anchor(const MarkdownFile& file, std::string_view name) {
  const auto found = std::ranges::find(file.anchors, name, &Anchor::name);
  if (found == file.anchors.end()) return std::nullopt;
  return found->index;
}

std::string without_markup(std::string paragraph) {
  static const std::regex kLink(R"(\[([^\]]*)\]\([^)]*\))"), kTag(R"(</?[A-Za-z][^<>]*>)");
  static const std::regex kStrong(R"(\*\*([^*]+)\*\*)"), kEmphasis(R"(\*([^*\s]|[^*\s][^*]*[^*\s])\*)");
  paragraph = std::regex_replace(paragraph, kLink, "$1");
  std::string text;
  bool is_code = false;
  for (std::size_t at = 0; at <= paragraph.size(); is_code = !is_code) {
    const std::size_t end = std::min(paragraph.find('`', at), paragraph.size());
    std::string part = paragraph.substr(at, end - at);
    if (!is_code) {
      for (const std::regex* const form : {&kStrong, &kEmphasis}) part = std::regex_replace(part, *form, "$1");
      part = with_entities_decoded(std::regex_replace(part, kTag, ""));
    }
    text += part;
    at = end + 1;
  }
  return text;
}

std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char character : heading) {
    const auto byte = static_cast<unsigned char>(character);
    if (std::isalnum(byte) != 0 || character == '-' || character == '_' || byte >= 0x80U) {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (character == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

}  // namespace lockstep::course
