#include "run/progress_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
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
  return isatty(STDOUT_FILENO) == 1 ? ProgressStyle::kTerminal : ProgressStyle::kPlain;
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return static_cast<int>(environment::get_int("COLUMNS", 1, 10'000).value_or(80));
}

ProgressPrinter::ProgressPrinter(std::ostream& out, ProgressStyle style, std::int64_t plain_every)
    : out_(out), style_(style), plain_every_(std::max<std::int64_t>(plain_every, 1)) {}

void ProgressPrinter::show(const ProgressReport& progress, Keep keep) {
  if (style_ == ProgressStyle::kTerminal) return redraw(progress, keep);
  constexpr std::chrono::seconds kLongestSilence{15};
  const auto now = std::chrono::steady_clock::now();
  const bool is_due = progress.step == 1 || progress.step == progress.last_step || progress.step % plain_every_ == 0 ||
                      now - last_drawn_ > kLongestSilence;
  if (keep == Keep::kTransient && !is_due) return;
  last_drawn_ = now;
  constexpr int kAnyWidth = 1000;
  out_ << progress_line(progress, kAnyWidth) + "\n" << std::flush;
}

void ProgressPrinter::redraw(const ProgressReport& progress, Keep keep) {
  constexpr std::chrono::milliseconds kPause{100};
  const auto now = std::chrono::steady_clock::now();
  const bool is_last = progress.step == progress.last_step;
  if (keep == Keep::kTransient && !is_last && now - last_drawn_ < kPause) return;
  last_drawn_ = now;
  // One column stays free: a terminal may wrap as soon as its last column is written.
  out_ << "\r" + progress_line(progress, terminal_width() - 1) + "\x1b[K"
       << std::flush;  // ESC [K clears the rest of the line
  is_line_open_ = true;
  if (keep == Keep::kPermanent) end_line();
}

void ProgressPrinter::end_line() {
  if (is_line_open_) out_ << std::endl;
  is_line_open_ = false;
}

}  // namespace lockstep::run
