#pragma once
/// @file
/// The line that says how far a run has come: redrawn in place on a terminal, now and then a line elsewhere.
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "run/metrics.hpp"

namespace lockstep::run {

/// What the line shows.
struct ProgressReport {
  std::int64_t step = 0;                  ///< Steps done.
  std::int64_t last_step = 0;             ///< Steps planned.
  double loss = 0;                        ///< Of the last step.
  std::optional<double> validation_loss;  ///< The last one measured; empty: none yet.
  Unit unit = Unit::kTokens;              ///< Of `count_per_s`.
  double count_per_s = 0;                 ///< Of all ranks together.
  std::optional<std::chrono::duration<double, std::milli>>
      exposed_communication;                              ///< Per step; empty: a single process.
  double exposed_share = 0;                               ///< Of the step, in [0, 1].
  std::optional<int> slowest_rank{};                      ///< Of the last steps; empty: a single process.
  std::chrono::duration<double, std::milli> data_wait{};  ///< Per step, of this rank.
  double peak_memory_mib = 0;                             ///< Of the rank with most; 0: unknown.
  std::chrono::duration<double> time_left{};              ///< Estimated.
};

/// The line in at most `width` columns: parts are left out, the least important first, until it fits. ASCII.
[[nodiscard]] std::string progress_line(const ProgressReport& progress, int width);

/// Whether the output is redrawn in place.
enum class ProgressStyle { kTerminal, kPlain };

/// kTerminal if standard output is a terminal; LOCKSTEP_PROGRESS=terminal or plain decides otherwise.
/// @throws FormatError  LOCKSTEP_PROGRESS has another value.
[[nodiscard]] ProgressStyle detect_progress_style();

/// Columns of the terminal on standard output; COLUMNS or 80 where it cannot be asked.
[[nodiscard]] int terminal_width();

/// Shows progress. Thread safety: none.
class ProgressPrinter {
 public:
  /// @param out          Outlives the printer.
  /// @param plain_every  Steps between plain lines; the first and the last step are always shown.
  ProgressPrinter(std::ostream& out, ProgressStyle style, std::int64_t plain_every);

  /// Whether the next line replaces this one on a terminal.
  enum class Keep { kTransient, kPermanent };
  /// Shows `progress`. On a terminal at most ten times a second, except what is kPermanent: that line stays and the
  /// next one goes below. Elsewhere every plain_every steps, what is
  /// kPermanent, and something at least every 15 s.
  void show(const ProgressReport& progress, Keep keep = Keep::kTransient);

  /// Ends a line that is being redrawn, before other output.
  void end_line();

 private:
  void redraw(const ProgressReport& progress, Keep keep);

  std::ostream& out_;
  ProgressStyle style_;
  std::int64_t plain_every_;
  bool is_line_open_ = false;
  std::chrono::steady_clock::time_point last_drawn_{};
};

}  // namespace lockstep::run
