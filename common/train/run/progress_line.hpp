#pragma once
/// @file
/// The progress line of a run: redrawn in place on a terminal, otherwise printed now and then.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "run/metrics.hpp"

namespace lockstep::run {

/// The contents of the line.
struct ProgressReport {
  std::int64_t step = 0;                  ///< Steps done.
  std::int64_t last_step = 0;             ///< Steps planned.
  double loss = 0;                        ///< Of the last step.
  std::optional<double> validation_loss;  ///< The last one measured; empty: none yet.
  Unit unit = Unit::kTokens;              ///< Of `count_per_s`.
  double count_per_s = 0;                 ///< Over all ranks.
  std::optional<std::chrono::duration<double, std::milli>>
      exposed_communication;                              ///< Per step; empty: a single process.
  double exposed_share = 0;                               ///< Of the step, in [0, 1].
  std::optional<int> slowest_rank{};                      ///< Of the last steps; empty: a single process.
  std::chrono::duration<double, std::milli> data_wait{};  ///< Per step, of this rank.
  double peak_memory_mib = 0;                             ///< Of the rank that uses most; 0: unknown.
  std::chrono::duration<double> time_left{};              ///< Estimated.
};

/// The line in at most `width` columns: drops the least important parts until it fits. ASCII.
[[nodiscard]] std::string progress_line(const ProgressReport& progress, int width);

/// Whether the line is redrawn in place.
enum class ProgressStyle { kTerminal, kPlain };

/// kTerminal if standard output is a terminal that has controls (terminal_has_controls()), unless LOCKSTEP_PROGRESS
/// (terminal or plain) overrides it.
/// @throws FormatError  LOCKSTEP_PROGRESS has another value.
[[nodiscard]] ProgressStyle detect_progress_style();

/// Columns of the terminal on which this output appears, now: that on standard output, or the one that a launcher names
/// in LOCKSTEP_TERMINAL, a path; if neither is known, COLUMNS or 80.
[[nodiscard]] int terminal_width();

/// Columns for text on standard output, as for wrap_words(): those of the terminal, or kAnyColumns if there is none.
[[nodiscard]] std::size_t text_columns();

/// A bar of `columns` characters, of which `share` (in [0, 1]) is done, in colours. Blocks of a line where the locale
/// has UTF-8, else "==--".
[[nodiscard]] std::string progress_bar(double share, int columns);

/// Prints progress lines. Thread safety: none.
class ProgressPrinter {
 public:
  /// Whether a line on a terminal ends in a bar, where there is room for one.
  enum class Bar { kNone, kColoured };

  /// @param out          Must outlive the printer.
  /// @param plain_every  Steps between plain lines; the first and the last step are always shown.
  ProgressPrinter(std::ostream& out, ProgressStyle style, std::int64_t plain_every, Bar bar = Bar::kNone);
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;
  /// Ends a line that is being redrawn, also when an error ends the run.
  ~ProgressPrinter();

  /// On a terminal, whether the next line replaces this one.
  enum class Keep { kTransient, kPermanent };
  /// Shows `progress`. On a terminal at most ten times a second, except kPermanent lines, which always appear and stay.
  /// Elsewhere every plain_every steps, at least every 15 s, and all kPermanent lines.
  void show(const ProgressReport& progress, Keep keep = Keep::kTransient);

  /// Ends a line that is being redrawn, before other output.
  void end_line();

 private:
  void redraw(const ProgressReport& progress, Keep keep);

  std::ostream& out_;
  ProgressStyle style_;
  std::int64_t plain_every_;
  Bar bar_;
  std::optional<ProgressReport> open_;  // on the line that is being redrawn
  std::chrono::steady_clock::time_point last_drawn_{};
};

}  // namespace lockstep::run
