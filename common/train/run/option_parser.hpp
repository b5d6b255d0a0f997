#pragma once
/// @file
/// The command line of a training program, whatever its options.
#include <concepts>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/command_line.hpp"
#include "run/option_list.hpp"
#include "run/run_folder.hpp"
#include "run/run_options.hpp"

namespace lockstep::run {

/// Reads one command line: twice where it resumes a run, whose options are the defaults of the second reading.
/// Thread safety: none.
class OptionParser {
 public:
  /// @param argc, argv   Of main(); outlive the parser.
  /// @param description  What the program does, for --help.
  OptionParser(int argc, const char* const* argv, std::string description);
  ~OptionParser();
  OptionParser(const OptionParser&) = delete;
  OptionParser& operator=(const OptionParser&) = delete;

  /// Writes what the command line says into the fields of `list`.
  /// @return  The exit code where the program is to end: help was shown, or the command line is wrong, which is
  /// answered
  ///          on standard error.
  /// @throws UsageError  --steps and --epochs.
  [[nodiscard]] std::optional<int> read(const OptionList& list);

  /// The command line as read last. @pre  read() has returned nothing.
  [[nodiscard]] const CommandLine& line() const noexcept { return *line_; }

  /// What --resume means, if it was given or `options` resumes the latest run: the run or checkpoint it names, or the
  /// latest run of this task in --out.
  /// @throws UsageError  There is none.
  [[nodiscard]] std::optional<RunAndCheckpoint> run_to_resume(const RunOptions& options) const;

 private:
  int argc_;
  const char* const* argv_;
  std::string description_;
  std::string resume_;
  std::unique_ptr<CommandLine> line_;
};

/// Fills the fields of `list` from the run's options.json.
/// @throws UsageError  The run is of another task. @throws IoError, FormatError  The file cannot be read.
void read_run_options(const std::filesystem::path& run, const std::string& task, const OptionList& list);

/// @throws UsageError  An option that a resumed run may not change differs from what the run was started with.
void require_same_run(const OptionList& now, const OptionList& then, const std::filesystem::path& run);

/// What a command line means: options, or nothing to do but end.
template <std::derived_from<RunOptions> Options>
struct ParsedOptions {
  Options options;               ///< As given, or their defaults.
  std::optional<int> exit_code;  ///< Set where the program is to end: help was shown, or the command line is wrong.
};

/// Reads the command line, and answers a wrong one on standard error. With --resume the options of that run are the
/// defaults.
/// @param argc, argv   Of main().
/// @param description  What the program does, in a sentence.
/// @param defaults     The options where the command line says nothing. Its type's list_options() says what there is,
///                     its complete() what goes together.
/// @throws UsageError        No run to resume, or an option that a resumed run may not change.
/// @throws UnavailableError  A device that this build does not have.
/// @throws IoError, FormatError  The options of the run to resume cannot be read.
template <std::derived_from<RunOptions> Options>
[[nodiscard]] ParsedOptions<Options> parse_options(int argc, const char* const* argv, const std::string& description,
                                                   const Options& defaults) {
  Options options = defaults, then = defaults;
  OptionParser parser(argc, argv, description);
  if (const auto exit_code = parser.read(list_options(options))) return {options, exit_code};
  const std::optional<RunAndCheckpoint> resumed = parser.run_to_resume(options);
  if (resumed) {
    read_run_options(resumed->run, defaults.task, list_options(then));
    options = then;
    // What the command line says goes over what the run was started with.
    if (const auto exit_code = parser.read(list_options(options))) return {options, exit_code};
    if (parser.line().is_given("--steps")) options.epochs = 0;
    options.resume = resumed->run;
    options.resume_from = resumed->checkpoint;
  }
  complete(options, parser.line());
  if (resumed) require_same_run(list_options(options), list_options(then), resumed->run);
  return {options, std::nullopt};
}

/// Runs `body`; an error becomes one line, which begins with the program's name or LOCKSTEP_PROGRAM.
/// @return  The exit status for main().
[[nodiscard]] int run_guarded_training(const char* const* argv, const std::function<int()>& body) noexcept;

/// Whether the program ends here: LOCKSTEP_CHECK_OPTIONS is set, and the options are right (for WORLD_SIZE too). A
/// launcher asks for that once before it starts many ranks.
/// @throws UsageError  They are not.
[[nodiscard]] bool only_checks_options(const RunOptions& options);

/// The main() of a training program: parse_options(), then `train`, with run_guarded_training() around them.
/// @return  The exit status for main().
template <std::derived_from<RunOptions> Options, std::invocable<const Options&> Train>
[[nodiscard]] int run_training(int argc, const char* const* argv, const std::string& description,
                               const Options& defaults, const Train& train) noexcept {
  return run_guarded_training(argv, [&]() -> int {
    const ParsedOptions<Options> parsed = parse_options(argc, argv, description, defaults);
    if (parsed.exit_code) return *parsed.exit_code;
    return only_checks_options(parsed.options) ? 0 : train(parsed.options);
  });
}

}  // namespace lockstep::run
