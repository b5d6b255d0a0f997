#include "course/predictions.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>

#include "base/error.hpp"

namespace lockstep::course {
namespace {

constexpr std::string_view kPrefix = "Predict: ";  // not repeated at a prompt
constexpr std::string_view kSummaryEnd = "</summary>";
constexpr double kRounding = 1e-9;  // so that 2.36 is within 2.31 +- 0.05 despite binary fractions

// The question below the comment at `index`; it may span several lines.
std::string question_below(const TextFile& text, std::size_t index) {
  std::string question;
  for (std::size_t next = index + 1; next < text.lines.size() && !trim(text.lines[next]).empty(); ++next) {
    if (!question.empty()) question += " ";
    question += text.lines[next];
    const std::size_t end = question.find(kSummaryEnd);
    if (!question.starts_with("<details><summary>") || end == std::string::npos) continue;
    std::string whole(trim(without_markup(question.substr(0, end))));
    if (whole.starts_with(kPrefix)) whole.erase(0, kPrefix.size());
    if (!whole.empty()) whole[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(whole[0])));
    return whole;
  }
  throw FormatError(text.place(index) + ": a question, <details><summary>...</summary>, must follow `predict`");
}

// The rest of the folded block that begins at `index`: its visible lines from the summary's end to </details>.
std::string explanation_below(const MarkdownFile& lesson, std::size_t index) {
  std::string text;
  bool is_below = false;
  for (std::size_t next = index + 1; next < lesson.visible.size(); ++next) {
    std::string_view line = lesson.visible[next];
    const std::size_t summary = line.find(kSummaryEnd);
    if (!is_below && summary == std::string_view::npos) continue;
    if (!is_below) line.remove_prefix(summary + kSummaryEnd.size());
    is_below = true;
    const std::size_t end = line.find("</details>");
    line = trim(line.substr(0, end));
    const bool is_second_blank = line.empty() && (text.empty() || text.ends_with("\n\n"));
    if (!is_second_blank) text += std::string(line) + "\n";
    if (end != std::string_view::npos) break;
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void find_block(const MarkdownFile& lesson, Prediction& prediction) {
  for (const FencedBlock& block : lesson.blocks) {
    if (block.first_index < prediction.index) continue;
    const auto comment = comment_on(block.line_above);
    const auto directive = comment ? parse_run_directive(*comment) : std::nullopt;
    if (!directive) continue;
    prediction.block = &block;
    prediction.directive = *directive;
    return;
  }
  throw FormatError(lesson.text.place(prediction.index) + ": no `run` block follows the question");
}

Prediction parse_prediction(const MarkdownFile& lesson, std::size_t index, const std::string& comment) {
  static const std::regex kForm(R"(predict id=(\w+)(?: unit=(\S+))? tolerance=(\d+(?:\.\d+)?)(%?): (.*\(.*\).*))");
  std::smatch match;
  if (!std::regex_match(comment, match, kForm))
    throw FormatError(lesson.text.place(index) +
                      ": not of the form 'predict id=NAME [unit=U] tolerance=N[%]: text with the value in (...)'");
  Prediction prediction;
  prediction.id = match[1];
  prediction.unit = match[2];
  prediction.is_relative = match[4].length() > 0;
  prediction.tolerance = std::stod(match[3]) / (prediction.is_relative ? 100 : 1);
  prediction.pattern = match[5];
  prediction.index = index;
  prediction.question = question_below(lesson.text, index);
  prediction.explanation = explanation_below(lesson, index);
  find_block(lesson, prediction);
  return prediction;
}

}  // namespace

std::vector<Prediction> predictions_in(const MarkdownFile& lesson) {
  std::vector<Prediction> predictions;
  for (std::size_t index = 0; index < lesson.text.lines.size(); ++index) {
    const auto comment = comment_on(lesson.text.lines[index]);
    if (!comment || !comment->starts_with("predict ")) continue;
    predictions.push_back(parse_prediction(lesson, index, *comment));
    const auto same = [&](const Prediction& other) { return other.id == predictions.back().id; };
    if (std::ranges::count_if(predictions, same) > 1)
      throw FormatError(concat(lesson.text.place(index), ": two questions are called ", predictions.back().id));
  }
  return predictions;
}

std::optional<double> value_in(const Prediction& prediction, const std::vector<std::string>& output) {
  const std::regex pattern(prediction.pattern);
  for (const std::string& line : output) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) return read_number(match[1]);
  }
  return std::nullopt;
}

std::optional<double> shown_value(const Prediction& prediction) {
  static const std::regex kTolerance(R"(~([-+\d.e]+)±[-+\d.e]+)");
  std::vector<std::string> lines;
  for (const std::string& line : prediction.block->lines) {
    if (!line.starts_with("$ ")) lines.push_back(std::regex_replace(line, kTolerance, "$1"));
  }
  return value_in(prediction, lines);
}

bool is_right(const Prediction& prediction, double answer, double value) {
  const double allowed = prediction.is_relative ? prediction.tolerance * std::abs(value) : prediction.tolerance;
  return std::abs(answer - value) <= allowed + kRounding * std::max(1.0, std::abs(value));
}

std::optional<double> read_number(std::string text) {
  std::erase(text, ',');
  std::smatch match;
  static const std::regex kNumber(R"(^\s*([-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?))");
  if (!std::regex_search(text, match, kNumber)) return std::nullopt;
  return std::stod(match[1]);
}

}  // namespace lockstep::course
