#include "course/predictions.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>

#include "base/error.hpp"

namespace lockstep::course {
namespace {

constexpr std::string_view kPrefix = "Predict: ";  // not repeated at a prompt
constexpr double kRounding = 1e-9;                 // so that 2.36 is within 2.31 +- 0.05 despite binary fractions

// A summary as plain text: tags removed, entities decoded.
std::string plain_text(std::string text) {
  static const std::regex kTag("<[^>]*>");
  text = std::regex_replace(text, kTag, "");
  for (const auto& [entity, character] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
    for (std::size_t at = 0; (at = text.find(entity, at)) != std::string::npos;)
      text.replace(at, std::string_view(entity).size(), character);
  }
  return std::string(trim(text));
}

// The question below the comment at `index`; it may span several lines.
std::string question_below(const TextFile& text, std::size_t index) {
  std::string question;
  for (std::size_t next = index + 1; next < text.lines.size() && !trim(text.lines[next]).empty(); ++next) {
    if (!question.empty()) question += " ";
    question += text.lines[next];
    const std::size_t end = question.find("</summary>");
    if (!question.starts_with("<details><summary>") || end == std::string::npos) continue;
    std::string whole = plain_text(question.substr(0, end));
    if (whole.starts_with(kPrefix)) whole.erase(0, kPrefix.size());
    if (!whole.empty()) whole[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(whole[0])));
    return whole;
  }
  throw FormatError(text.place(index) + ": a question, <details><summary>...</summary>, must follow `predict`");
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
