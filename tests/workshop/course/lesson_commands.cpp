#include "lesson_commands.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <string_view>

#include "base/error.hpp"
#include "table_cells.hpp"

namespace lockstep::checks {

namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kAnyText = "…";

/// A number with its tolerance, at the start of a pattern.
struct Tolerance {
  double value = 0;
  double allowed = 0;
  std::size_t pattern_length = 0;
};

std::optional<Tolerance> read_tolerance(std::string_view pattern) {
  static const std::regex kForm(R"(~(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)±(\d+(?:\.\d+)?(?:e[-+]?\d+)?))");
  std::match_results<std::string_view::const_iterator> match;
  constexpr auto kHere = std::regex_constants::match_continuous;
  if (!std::regex_search(pattern.begin(), pattern.end(), match, kForm, kHere)) return std::nullopt;
  return Tolerance{std::stod(match[1]), std::stod(match[2]), static_cast<std::size_t>(match.length())};
}

bool matches(std::string_view pattern, std::string_view text);

bool matches_number(const Tolerance& tolerance, std::string_view pattern, std::string_view text) {
  static const std::regex kNumber(R"(-?\d+(\.\d+)?(e[-+]?\d+)?)");
  std::match_results<std::string_view::const_iterator> match;
  constexpr auto kHere = std::regex_constants::match_continuous;
  if (!std::regex_search(text.begin(), text.end(), match, kNumber, kHere)) return false;
  constexpr double kRounding = 1e-9;  // so that 2.36 is within 2.31±0.05 despite binary fractions
  const double distance = std::abs(std::stod(match.str()) - tolerance.value);
  if (distance > tolerance.allowed + kRounding * std::max(1.0, std::abs(tolerance.value))) return false;
  return matches(pattern.substr(tolerance.pattern_length), text.substr(static_cast<std::size_t>(match.length())));
}

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.starts_with(kAnyText)) {
    for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
      if (matches(pattern.substr(kAnyText.size()), text.substr(skipped))) return true;
    }
    return false;
  }
  if (const auto tolerance = read_tolerance(pattern)) return matches_number(*tolerance, pattern, text);
  return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
}

/// How far expected[i..] matches printed[j..]; expected.size() means that all of both matched.
std::size_t follow(const Lines& expected, std::size_t i, const Lines& printed, std::size_t j) {
  for (; i < expected.size() && course::trim(expected[i]) != kAnyText; ++i, ++j) {
    if (j == printed.size() || !line_matches(expected[i], printed[j])) return i;
  }
  if (i == expected.size()) return j == printed.size() ? i : i - 1;
  std::size_t farthest = i;
  for (; j <= printed.size() && farthest < expected.size(); ++j) {
    farthest = std::max(farthest, follow(expected, i + 1, printed, j));
  }
  return farthest;
}

/// The first expected line without a matching printed line, each of which is used once; `…` lines match the rest.
std::optional<std::string> missing_line(const Lines& expected, Lines printed) {
  bool may_have_more = false;
  for (const std::string& line : expected) {
    if (course::trim(line) == kAnyText) {
      may_have_more = true;
      continue;
    }
    const auto found = std::ranges::find_if(printed, [&](const std::string& each) { return line_matches(line, each); });
    if (found == printed.end()) return line;
    printed.erase(found);
  }
  if (printed.empty() || may_have_more) return std::nullopt;
  return "(no further line)";
}

Lines without_empty_end(Lines lines) {
  while (!lines.empty() && course::trim(lines.back()).empty()) lines.pop_back();
  return lines;
}

std::string check_command(const course::ShownCommand& shown, const course::RunDirective& directive,
                          const std::filesystem::path& folder, const std::filesystem::path& programs, Lines& output) {
  const CommandResult result =
      run_command(course::with_built_tool(shown.command), folder, programs, directive.time_limit);
  output.insert(output.end(), result.output.begin(), result.output.end());
  std::string problem;
  if (result.was_stopped)
    problem = concat("did not end within ", directive.time_limit.count(), " s");
  else if (result.exit_status != directive.exit_status) {
    problem = concat("ended with status ", result.exit_status, " instead of ", directive.exit_status);
  } else {
    return compare_output(shown.expected, result.output, directive.is_unordered);
  }
  for (const std::string& line : result.output) problem += "\n    " + line;
  return problem;
}

}  // namespace

bool line_matches(const std::string& expected, const std::string& text) {
  return matches(course::collapse_blanks(expected), course::collapse_blanks(text));
}

std::string compare_output(const Lines& expected, const Lines& printed, bool is_unordered) {
  const Lines wanted = without_empty_end(expected), got = without_empty_end(printed);
  std::optional<std::string> missing;
  if (is_unordered) {
    missing = missing_line(wanted, got);
  } else if (const std::size_t reached = follow(wanted, 0, got, 0); reached < wanted.size()) {
    missing = wanted[reached];
  } else if (wanted.empty() && !got.empty()) {
    missing = "(nothing)";
  }
  if (!missing) return "";
  std::string text = concat("does not print as shown; expected\n    ", *missing, "\n  in what it printed:");
  for (const std::string& line : got) text += "\n    " + line;
  return text;
}

// Checks that this block's output contains the values asked for by questions, as shown in the lesson.
std::string check_predictions_of(const course::FencedBlock& block, const std::vector<course::Prediction>& predictions,
                                 const Lines& output) {
  for (const course::Prediction& each : predictions) {
    if (each.block != &block) continue;
    const auto printed = course::value_in(each, output), shown = course::shown_value(each);
    if (!printed) return concat("prints no answer to the question ", each.id);
    if (shown && !course::is_right(each, *shown, *printed))
      return concat("prints ", *printed, " as the answer to the question ", each.id, ", the lesson ", *shown);
  }
  return "";
}

// The last block above line `index` as a script: the commands that the reader has typed before those of the rows below.
std::string script_above(const course::MarkdownFile& file, std::size_t index) {
  std::string script;
  for (const course::FencedBlock& block : file.blocks) {
    if (block.first_index > index) break;
    script.clear();
    for (const std::string& line : block.lines) script += course::with_built_tool(line) + "\n";
  }
  return script;
}

// Runs the command in a row's column "try it". Each code in its column "what you see" must be part of an output line.
std::string check_row(const std::vector<Cell>& header, const std::vector<Cell>& row, const std::string& script,
                      std::chrono::seconds time_limit, const std::filesystem::path& folder,
                      const std::filesystem::path& programs) {
  std::string command;
  Lines is_expected;
  for (std::size_t column = 0; column < std::min(header.size(), row.size()); ++column) {
    const Lines codes = code_spans(row[column].text);
    if (header[column].text == "try it" && !codes.empty()) command = codes.front();
    if (header[column].text == "what you see") is_expected = codes;
  }
  if (command.empty() || is_expected.empty()) return "has no code in its columns 'try it' and 'what you see'";
  const CommandResult result = run_command(script + course::with_built_tool(command), folder, programs, time_limit);
  std::string problem;
  if (result.was_stopped) problem = concat("did not end within ", time_limit.count(), " s");
  for (const std::string& each : is_expected) {
    const std::string pattern = concat(kAnyText, each, kAnyText);
    if (std::ranges::none_of(result.output, [&](const std::string& line) { return line_matches(pattern, line); }))
      problem += concat(problem.empty() ? "" : "; ", "does not print \"", each, "\"");
  }
  if (problem.empty()) return "";
  for (const std::string& line : result.output) problem += "\n    " + line;
  return concat(command, " ", problem);
}

Problems check_rows(const course::MarkdownFile& file, const std::filesystem::path& folder,
                    const std::filesystem::path& programs) {
  constexpr std::size_t kFirstRow = 2;  // after the header and the line of dashes
  const Lines& lines = file.text.lines;
  Problems problems;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const auto comment = course::comment_on(lines[index]);
    const auto directive = comment ? course::parse_run_directive(*comment) : std::nullopt;
    if (!directive || !directive->is_of_rows) continue;
    const std::size_t table = index + 1;
    std::size_t row = table + kFirstRow;
    if (row >= lines.size() || !lines[row].starts_with('|'))
      problems.push_back(file.text.place(index) + ": no table follows");
    for (; row < lines.size() && lines[row].starts_with('|'); ++row) {
      const std::string problem = check_row(cells_of(lines[table]), cells_of(lines[row]), script_above(file, index),
                                            directive->time_limit, folder, programs);
      if (!problem.empty()) problems.push_back(concat(file.text.place(row), ": ", problem));
    }
  }
  return problems;
}

Problems check_commands(const course::MarkdownFile& file, const std::filesystem::path& folder,
                        const std::filesystem::path& programs) {
  Problems problems;
  const std::vector<course::Prediction> predictions = course::predictions_in(file);
  for (const course::FencedBlock& block : file.blocks) {
    const auto comment = course::comment_on(block.line_above);
    const auto directive = comment ? course::parse_run_directive(*comment) : std::nullopt;
    if (!directive) continue;
    const std::string place = file.text.place(block.first_index);
    const auto commands = course::shown_commands(block, *directive);
    if (commands.empty()) problems.push_back(place + " is marked to run but shows no '$ command'");
    Lines output;
    const std::size_t before = problems.size();
    for (const course::ShownCommand& shown : commands) {
      const std::string problem = check_command(shown, *directive, folder, programs, output);
      if (!problem.empty()) problems.push_back(concat(place, ": ", shown.command, " ", problem));
    }
    if (problems.size() > before) continue;
    const std::string problem = check_predictions_of(block, predictions, output);
    if (!problem.empty()) problems.push_back(concat(place, ": ", problem));
  }
  for (std::string& problem : check_rows(file, folder, programs)) problems.push_back(std::move(problem));
  return problems;
}

Problems check_output_widths(const course::MarkdownFile& file) {
  const auto columns = [](const std::string& line) {
    return std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  };
  Problems problems;
  for (const course::FencedBlock& block : file.blocks) {
    const auto comment = course::comment_on(block.line_above);
    const auto directive = comment ? course::parse_run_directive(*comment) : std::nullopt;
    if (!directive || directive->exit_status != 0) continue;
    for (const course::ShownCommand& shown : course::shown_commands(block, *directive)) {
      for (const std::string& line : shown.expected) {
        if (columns(line) > static_cast<std::ptrdiff_t>(kOutputColumns))
          problems.push_back(concat(file.text.place(block.first_index), ": ", columns(line),
                                    " columns of output, at most ", kOutputColumns, ": ", line));
      }
    }
  }
  return problems;
}

}  // namespace lockstep::checks
