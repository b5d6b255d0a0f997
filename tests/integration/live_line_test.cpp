// The live line of a training on a terminal that is resized meanwhile, in tmux: after each resize the screen has one
// such line and nothing that is left of earlier ones.
#include <chrono>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/soon.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {

/// A terminal without a user: a tmux server of its own, which ends with this object.
class Terminal {
 public:
  /// Skips the test where tmux is missing.
  explicit Terminal(int columns) {
    if (test::run_program({"sh", "-c", "command -v tmux"}).exit_code != 0) test::skip("tmux is not installed here");
    (void)tmux({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(columns), "-y", "40", "exec sh"});
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    try {
      (void)tmux({"kill-server"});
    } catch (...) {
      // It has ended already.
    }
  }

  /// Replaces the terminal's program by a shell that runs `command`, and stays when that has ended.
  void run(const std::string& command) { (void)tmux({"respawn-pane", "-k", command + "; echo ended; exec sleep 600"}); }
  void resize(int columns) { (void)tmux({"resize-window", "-x", std::to_string(columns), "-y", "40"}); }
  void press(const std::string& key) { (void)tmux({"send-keys", key}); }

  /// The lines that were written, the oldest first: rows that the terminal wrapped are joined again.
  [[nodiscard]] std::vector<std::string> lines() const { return split(tmux({"capture-pane", "-p", "-J", "-S", "-"})); }
  /// The rows of the screen.
  [[nodiscard]] std::vector<std::string> rows() const { return split(tmux({"capture-pane", "-p"})); }

 private:
  [[nodiscard]] std::string tmux(const std::vector<std::string>& words) const {
    std::vector<std::string> command{"tmux", "-S", (folder_.path() / "socket").string()};
    command.insert(command.end(), words.begin(), words.end());
    const test::Finished finished = test::run_program(
        command, {{"TMUX", ""}, {"LOCKSTEP_PROGRESS", ""}, {"NO_COLOR", ""}, {"LC_ALL", "C.UTF-8"}, {"COLUMNS", ""}});
    if (finished.exit_code != 0) throw Error(concat("tmux ", words.front(), ": ", finished.err));
    return finished.out;
  }

  // Without blanks and empty lines at the end.
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = text.substr(begin, end - begin);
      lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }

  test::TemporaryFolder folder_;
};

std::string all(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string training(const test::TemporaryFolder& folder, const std::string& variables, int steps) {
  return concat("cd ", folder.path().string(), " && env OMP_NUM_THREADS=1 ", variables, " ",
                test::built_program("lockstep"), " train --nproc 2 --model tiny --batch-size 4 --validate-every 12 ",
                "--sample-tokens 0 --out runs --steps ", steps);
}

/// The lines that show steps: those from the first step on, up to the run's closing words.
std::vector<std::string> step_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> found;
  bool has_begun = false;
  for (const std::string& line : lines) {
    has_begun = has_begun || line.starts_with("step ");
    if (has_begun && line.empty()) break;
    if (has_begun) found.push_back(line);
  }
  return found;
}

// The whole line with its less important parts left out, from right to left; the bar may follow.
bool is_whole(const std::string& line) {
  static const std::regex kWhole(
      R"(step +\d+/\d+  loss \d+\.\d{4}(  validation \d+\.\d{4})?(  [\d.]+k? tokens/s)?)"
      R"((  exposed [\d.]+ ms \(\d+%\))?(  slowest rank \d)?(  data [\d.]+ ms)?(  peak \d+ MiB)?(  ETA [\d:]+)?)"
      "(  (\u2501)+)?");
  return std::regex_match(line, kWhole);
}

/// What is wrong with a screen of a run that validates every 12 steps; empty: nothing. Lines of validation stay, so all
/// but the last line must be theirs.
std::string fault_of(const std::vector<std::string>& lines, std::size_t columns) {
  const std::vector<std::string> steps = step_lines(lines);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!is_whole(steps[i])) return "not a whole line: " + steps[i];
    const bool is_live = i + 1 == steps.size();
    if (!is_live && std::stoi(steps[i].substr(5)) % 12 != 0) return "a line that should have been redrawn: " + steps[i];
  }
  std::size_t bytes = steps.empty() ? 0 : steps.back().size();
  for (std::size_t at = 0; !steps.empty() && (at = steps.back().find("\u2501", at)) != std::string::npos; ++at)
    bytes -= 2;
  return steps.empty() ? "no step yet" : bytes >= columns ? "a line as wide as the terminal: " + steps.back() : "";
}

/// Waits until the resized screen has been drawn on, and then looks at it several times.
void check_screens(const Terminal& terminal, std::size_t columns) {
  std::string fault = "not looked at yet";
  for (const Deadline limit = test::soon(); !fault.empty() && !limit.has_expired(); std::this_thread::sleep_for(50ms))
    fault = fault_of(terminal.lines(), columns);
  for (int look = 0; look < 8; ++look) {
    const std::vector<std::string> lines = terminal.lines();
    INFO(columns << " columns:\n" << all(lines) << "rows:\n" << all(terminal.rows()));
    CHECK(fault_of(lines, columns).empty());
    std::this_thread::sleep_for(100ms);
  }
}

bool wait_for(const Terminal& terminal, const std::string& text) {
  const Deadline limit = Deadline::after(60s);  // a training that starts, or a short one, on a busy machine
  while (all(terminal.lines()).find(text) == std::string::npos) {
    if (limit.has_expired()) return false;
    std::this_thread::sleep_for(50ms);
  }
  return true;
}

}  // namespace

TEST_CASE("the live line follows a terminal that is resized, and leaves nothing behind", "[integration]") {
  const test::TemporaryFolder folder;
  Terminal terminal(100);
  terminal.run(training(folder, "", 100'000));
  REQUIRE(wait_for(terminal, "step "));
  check_screens(terminal, 100);
  for (const int columns : {60, 120, 60, 45, 100}) {
    terminal.resize(columns);
    check_screens(terminal, static_cast<std::size_t>(columns));
  }
  terminal.resize(60);
  terminal.press("C-c");
  const bool has_ended = wait_for(terminal, "\nended");
  const std::vector<std::string> lines = terminal.lines();
  INFO(all(lines));
  CHECK(has_ended);
  for (const std::string& line : lines) CHECK((!line.starts_with("step ") || is_whole(line)));
}

TEST_CASE("text on a narrow terminal is wrapped at words", "[integration]") {
  const test::TemporaryFolder folder;
  Terminal terminal(60);
  terminal.run(training(folder, "", 14));
  REQUIRE(wait_for(terminal, "\nended"));
  // Joining changes nothing: the terminal itself has wrapped no line but long paths.
  const std::vector<std::string> lines = terminal.lines();
  INFO(all(lines));
  for (const std::string& line : lines) {
    const std::size_t word = line.find_last_of(' ') == std::string::npos ? 0 : line.find_last_of(' ') + 1;
    CHECK((line.size() <= 60 || line.find('/', word) != std::string::npos));
  }
  const std::string script = LOCKSTEP_SOURCE_DIR "/lockstep";
  for (const std::string& command : {test::built_program("lockstep"), test::built_program("train_gpt_ddp") + " --help",
                                     "LOCKSTEP_PRESET=not-built " + script + " --help"}) {
    terminal.run(command);
    REQUIRE(wait_for(terminal, "\nended"));
    INFO(all(terminal.lines()));
    CHECK(all(terminal.lines()).find("--help") != std::string::npos);
    for (const std::string& line : terminal.lines()) CHECK(line.size() <= 60);
  }
}

TEST_CASE("the lines of launched ranks are wrapped at words, beside their rank's name", "[integration]") {
  const std::string print = "'echo one two three four five six seven eight nine ten eleven twelve thirteen'";
  Terminal terminal(60);
  terminal.run(test::built_program("lockstep") + " launch --nproc 1 -- sh -c " + print);
  REQUIRE(wait_for(terminal, "\nended"));
  CHECK_THAT(all(terminal.lines()), ContainsSubstring("[rank 0] one two three four five six seven eight nine ten\n"
                                                      "         eleven twelve thirteen\n"));
  terminal.run(test::built_program("lockstep") + " launch --no-prefix --nproc 1 -- sh -c " + print);
  REQUIRE(wait_for(terminal, "\nended"));
  CHECK_THAT(all(terminal.lines()), ContainsSubstring("eleven twelve thirteen\n"));  // broken by the terminal alone
}

TEST_CASE("a terminal without controls gets plain lines", "[integration]") {
  const test::TemporaryFolder folder;
  Terminal terminal(100);
  terminal.run(training(folder, "TERM=dumb", 24));
  REQUIRE(wait_for(terminal, "\nended"));
  const std::vector<std::string> lines = terminal.lines();
  INFO(all(lines));
  const std::vector<std::string> steps = step_lines(lines);
  CHECK(steps.size() > 10);  // about twenty, none of them redrawn
  for (const std::string& line : steps) CHECK(line.starts_with("step ") != line.starts_with("          "));
}
