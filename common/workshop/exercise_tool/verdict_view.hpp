#pragma once
/// @file
/// A judge's report and prose as text: a report has 80 columns, colours on a terminal only.
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lockstep::exercise {

/// How much to show.
enum class Detail {
  kBrief,  ///< `check`: the first lines of the evidence.
  kAll     ///< `why`: everything, including other possible mistakes.
};

/// Formats a report: the checks, the first failure with its evidence, the mistake that it looks like, one next step.
/// @param report  The judge's JSON, with "header" and "hint_command". @param has_colours  True for a terminal.
[[nodiscard]] std::string render(const nlohmann::json& report, Detail detail, bool has_colours);

[[nodiscard]] bool has_passed(const nlohmann::json& report);

/// `text` broken at blanks into lines of at most `columns`, each indented by `indentation` blanks. A longer word has a
/// line of its own.
[[nodiscard]] std::string wrapped(const std::string& text, int indentation, std::size_t columns = 80);

/// Columns for prose: those of the terminal, but no fewer than 40 and no more than 120; 80 if there is no terminal.
[[nodiscard]] std::size_t prose_columns();

}  // namespace lockstep::exercise
