#include "run/progress_line.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ostream>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/unique_fd.hpp"
#include "run/readable.hpp"

namespace lockstep::run {
namespace {

struct Part {
  std::string text;
  int importance;  // the least important part is dropped first
};

std::vector<Part> parts_of(const ProgressReport& progress) {
  const std::string last_step = std::to_string(progress.last_step);
  std::string step = std::to_string(progress.step);
  step.insert(0, last_step.size() - std::min(last_step.size(), step.size()), ' ');  // keeps columns aligned
  std::vector<Part> parts{{"step " + step + "/" + last_step, 9}, {"loss " + fixed(progress.loss, 4), 8}};
  if (progress.validation_loss) parts.push_back({"validation " + fixed(*progress.validation_loss, 4), 7});
  parts.push_back({concat(short_count(progress.count_per_s), " ", name_of(progress.unit), "/s"), 5});
  if (progress.exposed_communication) {
    parts.push_back({"exposed " + fixed(progress.exposed_communication->count(), 1) + " ms (" +
                         fixed(progress.exposed_share * 100, 0) + "%)",
                     4});
  }
  if (progress.slowest_rank) parts.push_back({concat("slowest rank ", *progress.slowest_rank), 2});
  parts.push_back({"data " + fixed(progress.data_wait.count(), 1) + " ms", 1});
  if (progress.peak_memory_mib > 0) parts.push_back({"peak " + fixed(progress.peak_memory_mib, 0) + " MiB", 3});
  parts.push_back({"ETA " + clock_time(progress.time_left), 6});
  return parts;
}

std::string join(const std::vector<Part>& parts) {
  std::string line;
  for (const Part& part : parts) line += (line.empty() ? "" : "  ") + part.text;
  return line;
}

constexpr int kShortBar = 10, kLongBar = 20;

// One column stays free: a terminal may wrap as soon as its last column is written.
int drawn_width() { return terminal_width() - 1; }

std::optional<int> known_columns() {
  if (const std::optional<int> columns = terminal_columns(STDOUT_FILENO)) return columns;
  const std::optional<std::string> path = environment::get("LOCKSTEP_TERMINAL");
  if (!path) return std::nullopt;
  const UniqueFd terminal(::open(path->c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  return terminal.is_open() ? terminal_columns(terminal.get()) : std::nullopt;
}

// The first of these variables that is set counts. @source POSIX.1-2017, "Internationalization Variables".
bool has_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::optional<std::string> locale = environment::get(name);
    if (!locale) continue;
    std::string small = *locale;
    std::ranges::transform(small, small.begin(), [](unsigned char letter) { return std::tolower(letter); });
    return small.find("utf-8") != std::string::npos || small.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

std::string progress_line(const ProgressReport& progress, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 0));
  std::vector<Part> parts = parts_of(progress);
  const auto less_important = [](const Part& a, const Part& b) { return a.importance < b.importance; };
  while (parts.size() > 1 && join(parts).size() > columns) {
    parts.erase(std::min_element(parts.begin(), parts.end(), less_important));
  }
  return join(parts).substr(0, columns);
}

ProgressStyle detect_progress_style() {
  const std::string wanted = environment::get("LOCKSTEP_PROGRESS").value_or("auto");
  if (wanted == "terminal") return ProgressStyle::kTerminal;
  if (wanted == "plain") return ProgressStyle::kPlain;
  if (wanted != "auto") throw FormatError("LOCKSTEP_PROGRESS is '" + wanted + "', not terminal, plain or auto");
  return isatty(STDOUT_FILENO) == 1 && terminal_has_controls() ? ProgressStyle::kTerminal : ProgressStyle::kPlain;
}

int terminal_width() {
  if (const std::optional<int> columns = known_columns()) return *columns;
  return static_cast<int>(environment::get_int("COLUMNS", 1, 10'000).value_or(80));
}

std::size_t text_columns() {
  const std::optional<int> columns = known_columns();
  return columns ? static_cast<std::size_t>(*columns) : kAnyColumns;
}

std::string progress_bar(double share, int columns) {
  const bool has_lines = has_utf8_locale();
  const auto done = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * columns));
  std::string bar = "\033[36m";  // cyan
  for (int i = 0; i < done; ++i) bar += has_lines ? "\u2501" : "=";
  bar += "\033[0;2m";  // faint
  for (int i = done; i < columns; ++i) bar += has_lines ? "\u2501" : "-";
  return bar + "\033[0m";
}

ProgressPrinter::ProgressPrinter(std::ostream& out, ProgressStyle style, std::int64_t plain_every, Bar bar)
    : out_(out), style_(style), plain_every_(std::max<std::int64_t>(plain_every, 1)), bar_(bar) {}

ProgressPrinter::~ProgressPrinter() {
  try {
    end_line();
  } catch (...) {
    // The line is lost; what ended the run matters more.
  }
}

void ProgressPrinter::show(const ProgressReport& progress, Keep keep) {
  if (style_ == ProgressStyle::kTerminal) return redraw(progress, keep);
  constexpr std::chrono::seconds kLongestSilence{15};
  const auto now = std::chrono::steady_clock::now();
  const bool is_due = progress.step == 1 || progress.step == progress.last_step || progress.step % plain_every_ == 0 ||
                      now - last_drawn_ > kLongestSilence;
  if (keep == Keep::kTransient && !is_due) return;
  last_drawn_ = now;
  constexpr int kAnyWidth = 1000;
  constexpr std::size_t kHanging = 10;
  out_ << wrap_words(progress_line(progress, kAnyWidth) + "\n", text_columns(), kHanging) << std::flush;
}

void ProgressPrinter::redraw(const ProgressReport& progress, Keep keep) {
  constexpr std::chrono::milliseconds kPause{100};
  const auto now = std::chrono::steady_clock::now();
  const bool is_last = progress.step == progress.last_step;
  if (keep == Keep::kTransient && !is_last && now - last_drawn_ < kPause) return;
  last_drawn_ = now;
  open_ = progress;
  if (keep == Keep::kPermanent) return end_line();
  const int width = drawn_width();
  std::string line = progress_line(progress, width);
  const int room = width - static_cast<int>(line.size());
  if (bar_ == Bar::kColoured && room >= kShortBar + 2) {
    const auto steps = static_cast<double>(std::max<std::int64_t>(progress.last_step, 1));
    line +=
        "  " + progress_bar(static_cast<double>(progress.step) / steps, room >= kLongBar + 2 ? kLongBar : kShortBar);
  }
  out_ << live_line(line) << std::flush;
  set_live_line_shown(true);
}

// Draws it once more, because the terminal may have wrapped what was there.
void ProgressPrinter::end_line() {
  if (!open_) return;
  const std::string line = progress_line(*open_, drawn_width());
  open_.reset();
  set_live_line_shown(false);
  out_ << std::string(kClearLiveLine) + line + "\n" << std::flush;
}

}  // namespace lockstep::run
