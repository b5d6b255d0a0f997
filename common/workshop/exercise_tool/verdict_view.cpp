#include "exercise_tool/verdict_view.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/counted.hpp"
#include "base/text.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kBriefEvidence = 6;
constexpr int kIndentation = 10;

std::string coloured(const std::string& text, const char* code, bool has_colours) {
  return has_colours ? concat("\033[", code, "m", text, "\033[0m") : text;
}

const char* colour_of(const std::string& verdict) {
  if (verdict == "passed") return "32";
  if (verdict == "TODO" || verdict == "SKIPPED") return "33";
  return "1;31";
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : text + std::string(width - text.size(), ' ');
}

const nlohmann::json* first_failure(const nlohmann::json& report) {
  for (const nlohmann::json& check : report.at("checks"))
    if (check.at("verdict") != "passed") return &check;
  return nullptr;
}

std::string likely_text(const nlohmann::json& likely) {
  if (likely.empty()) return "";
  if (likely.size() == 1)
    return wrapped(concat("This looks like: ", likely[0].at("description").get<std::string>(), "."), kIndentation);
  std::string text = wrapped("This looks like one of:", kIndentation);
  for (const nlohmann::json& mistake : likely)
    text += wrapped("- " + mistake.at("description").get<std::string>(), kIndentation);
  return text;
}

std::string evidence_text(const nlohmann::json& failure, Detail detail) {
  const nlohmann::json& evidence = failure.at("evidence");
  const std::size_t shown = detail == Detail::kAll ? evidence.size() : std::min(evidence.size(), kBriefEvidence);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i)
    text += std::string(kIndentation, ' ') + evidence[i].get<std::string>() + "\n";
  if (shown < evidence.size())
    text += concat(std::string(kIndentation, ' '), "(", counted(evidence.size() - shown, "more line"),
                   ": ./lockstep why)\n");
  return text;
}

std::string next_step(const nlohmann::json& report, const nlohmann::json& failure) {
  const std::string hint = report.value("hint_command", "");
  if (failure.at("verdict") == "TODO") return concat("read the task, then write that part  (", hint, " helps)");
  if (report.at("likely").size() == 1) return report["likely"][0].at("advice");
  const std::string next = failure.at("next");
  return next.empty() ? hint : next;
}

}  // namespace

std::string wrapped(const std::string& text, int indentation, std::size_t columns) {
  const std::string blanks(static_cast<std::size_t>(indentation), ' ');
  std::istringstream words(text);
  std::string lines, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && blanks.size() + line.size() + 1 + word.size() > columns) {
      lines += blanks + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? lines : lines + blanks + line + "\n";
}

std::size_t prose_columns() {
  constexpr std::size_t kFewest = 40, kMost = 120;  // longer lines are hard to read
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? std::clamp<std::size_t>(size.ws_col, kFewest, kMost) : kColumns;
}

bool has_passed(const nlohmann::json& report) {
  return !report.is_null() && !report.at("checks").empty() && first_failure(report) == nullptr;
}

std::string render(const nlohmann::json& report, Detail detail, bool has_colours) {
  std::string text = report.value("header", "") + "\n";
  for (const nlohmann::json& check : report.at("checks")) {
    const std::string verdict = check.at("verdict");
    text += concat("  ", coloured(padded(verdict, 8), colour_of(verdict), has_colours),
                   check.at("name").get<std::string>(), "\n");
    if (verdict == "passed" || &check != first_failure(report)) continue;
    text += wrapped(check.at("summary"), kIndentation);
    text += evidence_text(check, detail);
    text += likely_text(report.at("likely"));
    if (detail == Detail::kAll && report.at("likely").empty() && verdict != "TODO")
      text += wrapped("No mistake of the exercise's bank behaves like this.", kIndentation);
  }
  const nlohmann::json* const failure = first_failure(report);
  const std::string next = failure == nullptr ? report.value("after_passing", "") : next_step(report, *failure);
  if (!next.empty()) {
    const std::string lines = wrapped("next: " + next, 0);
    text += coloured(lines.substr(0, 5), "1", has_colours) + lines.substr(5);
  }
  return text;
}

}  // namespace lockstep::exercise
