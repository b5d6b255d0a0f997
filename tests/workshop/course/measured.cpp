#include "measured.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "course/text_file.hpp"
#include "table_cells.hpp"

namespace lockstep::checks {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Lines = std::vector<std::string>;

constexpr std::string_view kOpening = "<!-- measured:";

// "system=Gloo": selects the row by that field's value.
struct Condition {
  std::string field, value;
};
using Conditions = std::vector<Condition>;

// "microseconds where system=Gloo".
struct Source {
  std::string field;
  Conditions conditions;
};

// `<!-- measured: path where ...`, a line for each column or phrase, `-->`.
struct Directive {
  std::size_t first = 0, behind = 0;  // indices of its first line, and of the line after its last
  std::string path;
  Conditions conditions;
  Lines columns;  // or phrases
};

std::string trimmed(std::string_view text) { return std::string(course::trim(text)); }

Source parse_source(std::string_view text) {
  constexpr std::string_view kWhere = " where ";
  const std::size_t where = text.find(kWhere);
  Source source{trimmed(text.substr(0, where)), {}};
  if (where == std::string_view::npos) return source;
  for (text.remove_prefix(where + kWhere.size()); !text.empty();) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) throw FormatError(concat("\"", one, "\" is no field=value"));
    source.conditions.push_back({trimmed(one.substr(0, equals)), trimmed(one.substr(equals + 1))});
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return source;
}

bool is_fenced(const course::MarkdownFile& file, std::size_t index) {
  return std::ranges::any_of(file.blocks, [&](const course::FencedBlock& block) {
    return block.first_index <= index && index <= block.first_index + block.lines.size() + 1;
  });
}

std::optional<Directive> directive_at(const course::MarkdownFile& file, std::size_t index) {
  const Lines& lines = file.text.lines;
  if (!course::trim(lines[index]).starts_with(kOpening) || is_fenced(file, index)) return std::nullopt;
  std::string text;
  std::size_t behind = index;
  while (behind < lines.size() && text.find("-->") == std::string::npos) text += lines[behind++] + "\n";
  if (text.find("-->") == std::string::npos) throw FormatError("the comment does not end");
  text = text.substr(text.find(kOpening) + kOpening.size());
  Lines parts = course::split_lines(text.substr(0, text.find("-->")));
  const Source head = parse_source(parts.empty() ? "" : parts.front());
  Directive directive{index, behind, head.field, head.conditions, {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!course::trim(parts[i]).empty()) directive.columns.push_back(trimmed(parts[i]));
  }
  return directive;
}

// A field of an object: "microseconds", "link.alpha_us". Null if it is missing.
json value_of(const json& object, const std::string& field) {
  const json* found = &object;
  std::size_t begin = 0;
  for (std::size_t dot = 0; dot != std::string::npos; begin = dot + 1) {
    dot = field.find('.', begin);
    const std::string name = field.substr(begin, dot == std::string::npos ? dot : dot - begin);
    if (!found->is_object() || !found->contains(name)) return nullptr;
    found = &found->at(name);
  }
  return *found;
}

bool holds(const json& row, const Condition& condition) {
  const json value = value_of(row, condition.field);
  if (value.is_string()) return value.get<std::string>() == condition.value;
  const auto number = number_in(condition.value);
  return value.is_number() && number && value.get<double>() == *number;
}

std::string describe(const Conditions& conditions) {
  std::string text;
  for (const Condition& each : conditions) text += concat(text.empty() ? "" : ", ", each.field, "=", each.value);
  return text;
}

// The only row that meets all conditions; the file itself if there are none.
const json& select(const json& record, const Conditions& conditions) {
  if (conditions.empty()) return record;
  const json* found = nullptr;
  for (const json& row : record.at("rows")) {
    if (!std::ranges::all_of(conditions, [&](const Condition& each) { return holds(row, each); })) continue;
    if (found != nullptr) throw FormatError(concat("more than one row has ", describe(conditions)));
    found = &row;
  }
  if (found == nullptr) throw FormatError(concat("no row has ", describe(conditions)));
  return *found;
}

// The value with as many decimals as `shown`.
std::string as_shown(const json& record, const Source& source, const std::string& shown) {
  const json value = value_of(select(record, source.conditions), source.field);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) {
    throw FormatError(concat("there is no number ", source.field,
                             source.conditions.empty() ? "" : " where " + describe(source.conditions)));
  }
  const std::size_t point = shown.find('.');
  return with_digits(value.get<double>(), point == std::string::npos ? 0 : static_cast<int>(shown.size() - point - 1));
}

struct Column {
  std::string name;
  bool is_key = false;  // it selects the row
  Source source;
};

Column parse_column(const std::string& text) {
  constexpr std::string_view kKey = "key ";
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw FormatError(concat("\"", text, "\" is no \"column: field\""));
  const std::string source = trimmed(std::string_view(text).substr(colon + 1));
  const bool is_key = source.starts_with(kKey);
  return {trimmed(std::string_view(text).substr(0, colon)), is_key,
          parse_source(is_key ? std::string_view(source).substr(kKey.size()) : source)};
}

void fill_row(const json& record, const Conditions& common, const std::vector<Column>& columns, std::string& line) {
  const std::vector<Cell> cells = cells_of(line);
  if (cells.size() != columns.size()) throw FormatError(concat("it has ", cells.size(), " columns"));
  Conditions keys = common;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (columns[i].is_key) keys.push_back({columns[i].source.field, cells[i].text});
  }
  for (std::size_t i = cells.size(); i-- > 0;) {
    if (columns[i].is_key) continue;
    Source source = columns[i].source;
    source.conditions.insert(source.conditions.begin(), keys.begin(), keys.end());
    replace_cell(line, cells[i], as_shown(record, source, cells[i].text));
  }
}

void check_header(const std::vector<Column>& columns, const std::string& line) {
  const std::vector<Cell> cells = cells_of(line);
  const bool is_same = std::ranges::equal(cells, columns, {}, &Cell::text, &Column::name);
  if (!is_same) throw FormatError("the columns are not those that its comment lists");
}

// Rows from `first` on, up to a blank line or the end of the block.
void fill_table(const json& record, const Directive& directive, std::size_t first, MeasuredLines& result,
                const course::MarkdownFile& file) {
  std::vector<Column> columns;
  for (const std::string& text : directive.columns) columns.push_back(parse_column(text));
  check_header(columns, result.lines[first]);
  for (std::size_t index = first + 1; index < result.lines.size(); ++index) {
    std::string& line = result.lines[index];
    if (course::trim(line).empty() || line.starts_with("```")) return;
    if (line.starts_with("|-")) continue;
    try {
      fill_row(record, directive.conditions, columns, line);
    } catch (const Error& error) {
      result.problems.push_back(concat(file.text.place(index), ": ", directive.path, ": ", error.what()));
    }
  }
}

// "alpha {link.alpha_us} us" as a pattern with a group for each number, and the numbers' sources.
struct Phrase {
  std::string pattern;
  std::vector<Source> sources;
};

Phrase parse_phrase(const std::string& text) {
  Phrase phrase;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    if (end != std::string::npos) {
      phrase.sources.push_back(parse_source(std::string_view(text).substr(at + 1, end - at - 1)));
      phrase.pattern += R"((-?\d+(?:\.\d+)?))";
      at = end;
    } else if (text[at] == ' ') {
      phrase.pattern += R"(\s+)";
    } else {
      if (std::string_view(R"(\^$.|?*+()[]{}/)").find(text[at]) != std::string_view::npos) phrase.pattern += '\\';
      phrase.pattern += text[at];
    }
  }
  if (phrase.sources.empty()) throw FormatError(concat("\"", text, "\" names no {field}"));
  return phrase;
}

// Fills in a paragraph, in which phrases may span lines.
void fill_paragraph(const json& record, const Directive& directive, std::size_t first, Lines& lines) {
  std::size_t behind = first;
  std::string paragraph;
  while (behind < lines.size() && !course::trim(lines[behind]).empty()) paragraph += lines[behind++] + "\n";
  for (const std::string& text : directive.columns) {
    const Phrase phrase = parse_phrase(text);
    std::smatch match;
    if (!std::regex_search(paragraph, match, std::regex(phrase.pattern))) {
      throw FormatError(concat("the paragraph does not say \"", text, "\""));
    }
    std::string filled = paragraph;
    for (std::size_t i = phrase.sources.size(); i-- > 0;) {
      Source source = phrase.sources[i];
      if (!source.conditions.empty())
        source.conditions.insert(source.conditions.end(), directive.conditions.begin(), directive.conditions.end());
      const auto group = static_cast<std::ptrdiff_t>(i + 1);
      filled.replace(static_cast<std::size_t>(match.position(group)), static_cast<std::size_t>(match.length(group)),
                     as_shown(record, source, match[group]));
    }
    paragraph = filled;
  }
  std::ranges::copy(course::split_lines(paragraph), lines.begin() + static_cast<std::ptrdiff_t>(first));
}

json read_record(const fs::path& root, const std::string& path) {
  if (path.starts_with("..") || !fs::exists(root / path)) throw FormatError("the file does not exist");
  std::string text;
  for (const std::string& line : read_project_file(root, path).lines) text += line + "\n";
  const json record = json::parse(text, nullptr, false);
  if (!record.is_object() || !record.contains("rows")) throw FormatError("the file is no measurement: it has no rows");
  return record;
}

void fill(const fs::path& root, const course::MarkdownFile& file, const Directive& directive, MeasuredLines& result) {
  const json record = read_record(root, course::resolve_path(file, directive.path));
  if (directive.columns.empty()) throw FormatError("it lists no columns or phrases");
  std::size_t next = directive.behind;
  while (next < result.lines.size() && course::trim(result.lines[next]).empty()) ++next;
  if (next == result.lines.size()) throw FormatError("nothing stands below the comment");
  const std::string_view line = result.lines[next];
  if (line.starts_with('|')) return fill_table(record, directive, next, result, file);
  if (line.starts_with("```") && next + 1 < result.lines.size())
    return fill_table(record, directive, next + 1, result, file);
  fill_paragraph(record, directive, next, result.lines);
}

}  // namespace

MeasuredLines with_measured_values(const fs::path& root, const course::MarkdownFile& file) {
  MeasuredLines result{file.text.lines, {}};
  for (std::size_t index = 0; index < file.text.lines.size(); ++index) {
    try {
      if (const auto directive = directive_at(file, index)) fill(root, file, *directive, result);
    } catch (const Error& error) {
      result.problems.push_back(
          concat(file.text.place(index), ": ", course::trim(file.text.lines[index]), ": ", error.what()));
    }
  }
  return result;
}

Problems check_measured(const fs::path& root, const course::MarkdownFile& file) {
  MeasuredLines measured = with_measured_values(root, file);
  Problems problems = std::move(measured.problems);
  for (std::size_t index = 0; index < measured.lines.size(); ++index) {
    if (measured.lines[index] == file.text.lines[index]) continue;
    problems.push_back(concat(
        file.text.place(index),
        " does not show what was measured (update_lessons puts it right): ", course::trim(measured.lines[index])));
  }
  return problems;
}

}  // namespace lockstep::checks
