#include "run/progress_line.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <sstream>

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace lockstep;
using namespace lockstep::run;

namespace {

ProgressReport example() {
  return {.step = 120,
          .last_step = 1000,
          .loss = 2.31251,
          .validation_loss = 2.4,
          .count_per_s = 45'210,
          .exposed_communication = std::chrono::microseconds(1240),
          .exposed_share = 0.031,
          .slowest_rank = 3,
          .data_wait = std::chrono::microseconds(420),
          .peak_memory_mib = 411.6,
          .time_left = std::chrono::seconds(83)};
}

ProgressReport at_step(std::int64_t step, std::int64_t last_step) {
  ProgressReport progress = example();
  progress.step = step;
  progress.last_step = last_step;
  return progress;
}

}  // namespace

TEST_CASE("a wide terminal shows everything", "[run]") {
  CHECK(progress_line(example(), 160) ==
        "step  120/1000  loss 2.3125  validation 2.4000  45.2k tokens/s  exposed 1.2 ms (3%)  slowest rank 3  "
        "data 0.4 ms  peak 412 MiB  ETA 1:23");
}

TEST_CASE("the line leaves out what matters least and never exceeds the width", "[run]") {
  for (int width = 0; width <= 120; ++width) {
    CHECK(static_cast<int>(progress_line(example(), width).size()) <= width);
  }
  CHECK(progress_line(example(), 110) ==
        "step  120/1000  loss 2.3125  validation 2.4000  45.2k tokens/s  exposed 1.2 ms (3%)  peak 412 MiB  ETA 1:23");
  CHECK(progress_line(example(), 100) ==
        "step  120/1000  loss 2.3125  validation 2.4000  45.2k tokens/s  exposed 1.2 ms (3%)  ETA 1:23");
  CHECK(progress_line(example(), 80) == "step  120/1000  loss 2.3125  validation 2.4000  45.2k tokens/s  ETA 1:23");
  CHECK(progress_line(example(), 60) == "step  120/1000  loss 2.3125  validation 2.4000  ETA 1:23");
  CHECK(progress_line(example(), 50) == "step  120/1000  loss 2.3125  validation 2.4000");
  CHECK(progress_line(example(), 40) == "step  120/1000  loss 2.3125");
  CHECK(progress_line(example(), 20) == "step  120/1000");
}

TEST_CASE("a single device shows no communication, a young run no validation", "[run]") {
  ProgressReport progress = example();
  progress.exposed_communication.reset();
  progress.slowest_rank.reset();
  progress.validation_loss.reset();
  CHECK(progress_line(progress, 120) ==
        "step  120/1000  loss 2.3125  45.2k tokens/s  data 0.4 ms  peak 412 MiB  ETA 1:23");
}

TEST_CASE("without a terminal a line comes now and then, and for the first and last step", "[run]") {
  std::ostringstream out;
  ProgressPrinter printer(out, ProgressStyle::kPlain, 4);
  for (std::int64_t step = 1; step <= 10; ++step) printer.show(at_step(step, 10));
  printer.end_line();
  std::string steps;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) steps += line.substr(0, line.find("  loss")) + ";";
  CHECK(steps == "step  1/10;step  4/10;step  8/10;step 10/10;");
  CHECK(out.str().find('\r') == std::string::npos);
}

TEST_CASE("on a terminal the line is redrawn in place, and a permanent one stays", "[run]") {
  std::ostringstream out;
  ProgressPrinter printer(out, ProgressStyle::kTerminal, 1);
  const auto begin = std::chrono::steady_clock::now();
  for (const std::int64_t step : {1, 2}) printer.show(at_step(step, 10));
  const auto tenths = (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(100);
  // Of lines within a tenth of a second only the first is drawn. On a busy machine more time may have passed.
  CHECK((out.str().find("2/10") == std::string::npos || tenths > 0));
  CHECK(out.str().substr(0, 1) == "\r");
  CHECK(out.str().back() == '\r');  // the cursor waits at the beginning, which a resized terminal keeps
  CHECK(out.str().find('\n') == std::string::npos);
  printer.show(at_step(3, 10), ProgressPrinter::Keep::kPermanent);
  CHECK(out.str().back() == '\n');
  printer.end_line();
  CHECK(out.str().find("\n\n") == std::string::npos);
}

namespace {

/// Sets a variable of this process, and in the end removes it.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("the line follows the width of the terminal that a launcher names", "[run]") {
  const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY));
  if (!terminal.is_open() || ::unlockpt(terminal.get()) != 0) test::skip("there is no pseudo-terminal here");
  if (::isatty(STDOUT_FILENO) == 1) test::skip("this test writes to a terminal itself");
  const Variable columns("COLUMNS", "100"), path("LOCKSTEP_TERMINAL", ::ptsname(terminal.get()));
  CHECK(terminal_width() == 100);  // the terminal does not know its width
  CHECK(text_columns() == kAnyColumns);
  for (const int wide : {100, 60, 120}) {
    const winsize size{.ws_row = 24, .ws_col = static_cast<unsigned short>(wide), .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(::ioctl(terminal.get(), TIOCSWINSZ, &size) == 0);
    CHECK(terminal_width() == wide);
    CHECK(text_columns() == static_cast<std::size_t>(wide));
    std::ostringstream out;
    ProgressPrinter printer(out, ProgressStyle::kTerminal, 1);
    printer.show(example());
    CHECK_THAT(out.str(), ContainsSubstring("7l" + progress_line(example(), wide - 1) + "\033"));
  }
}

TEST_CASE("a line that is being redrawn is ended when an error ends the run", "[run]") {
  std::ostringstream out;
  { ProgressPrinter(out, ProgressStyle::kTerminal, 1).show(at_step(3, 10)); }
  CHECK(out.str().back() == '\n');
}

TEST_CASE("a bar fills what the line leaves, in colours", "[run]") {
  const Variable locale("LC_ALL", "C"), columns("COLUMNS", "200");
  if (::isatty(STDOUT_FILENO) == 1) test::skip("this test needs a width of its own");
  CHECK(progress_bar(0.3, 10) == "\033[36m===\033[0;2m-------\033[0m");
  CHECK(progress_bar(1, 3) == "\033[36m===\033[0;2m\033[0m");
  CHECK(progress_bar(-1, 2) == "\033[36m\033[0;2m--\033[0m");
  const auto drawn = [](ProgressPrinter::Bar bar) {
    std::ostringstream out;
    ProgressPrinter(out, ProgressStyle::kTerminal, 1, bar).show(at_step(500, 1000));
    return out.str();
  };
  CHECK_THAT(drawn(ProgressPrinter::Bar::kColoured), ContainsSubstring(progress_bar(0.5, 20)));
  CHECK_THAT(drawn(ProgressPrinter::Bar::kNone), !ContainsSubstring("\033[36m"));
  const Variable narrow("COLUMNS", "60");
  CHECK_THAT(drawn(ProgressPrinter::Bar::kColoured), !ContainsSubstring("\033[36m"));
  const Variable unicode("LC_ALL", "en_US.UTF-8");
  CHECK_THAT(progress_bar(0.5, 2), ContainsSubstring("\u2501"));
}
