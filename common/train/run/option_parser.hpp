#pragma once
/// @file
/// The command line of a training program, for any list of options.
#include <concepts>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/command_line.hpp"
#include "run/option_list.hpp"
#include "run/run_folder.hpp"
#include "run/run_options.hpp"

namespace lockstep::run {

/// A command line, read into the fields of a list of options. Thread safety: none.
class OptionParser {
 public:
  /// @param argc, argv   Of main().
  /// @param description  What the program does, for --help.
  /// @param list         Its fields must outlive the parser.
  /// @throws UsageError  Both --steps and --epochs are given.
  OptionParser(int argc, const char* const* argv, const std::string& description, const OptionList& list);

  /// Set if the program should end: after --help, or after an error, which is reported on standard error.
  [[nodiscard]] std::optional<int> exit_code() const noexcept { return exit_code_; }
  [[nodiscard]] const CommandLine& line() const noexcept { return line_; }

  /// The run or checkpoint that --resume names, or the latest run of this task in --out. Empty unless --resume was
  /// given or `options` resumes the latest run.
  /// @throws UsageError  There is none.
  [[nodiscard]] std::optional<RunAndCheckpoint> run_to_resume(const RunOptions& options) const;

 private:
  CommandLine line_;
  std::string resume_;
  std::optional<int> exit_code_;
};

/// Fills the fields of `list` from the run's options.json.
/// @throws UsageError  The run has a different task. @throws IoError, FormatError  The file cannot be read.
void read_run_options(const std::filesystem::path& run, const std::string& task, const OptionList& list);

/// @throws UsageError  An option that a resumed run may not change differs from that of the original run.
void require_same_run(const OptionList& now, const OptionList& then, const std::filesystem::path& run);

/// The result of parsing: options, or an exit code.
template <std::derived_from<RunOptions> Options>
struct ParsedOptions {
  Options options;               ///< From the command line, or their defaults.
  std::optional<int> exit_code;  ///< Set if the program should end: after --help, or an error.
};

/// Parses the command line, and reports errors on standard error. With --resume, the options of that run are the
/// defaults.
/// @param argc, argv   Of main().
/// @param description  What the program does, in a sentence.
/// @param defaults     Used if the command line does not set an option. The overloads of list_options() and complete()
///                     for its type list and check the options.
/// @throws UsageError        No run to resume, or an option that a resumed run may not change.
/// @throws UnavailableError  A device that this build does not have.
/// @throws IoError, FormatError  The options of the run to resume cannot be read.
template <std::derived_from<RunOptions> Options>
[[nodiscard]] ParsedOptions<Options> parse_options(int argc, const char* const* argv, const std::string& description,
                                                   const Options& defaults) {
  Options options = defaults, then = defaults;
  const OptionParser given(argc, argv, description, list_options(options));
  if (given.exit_code()) return {options, given.exit_code()};
  const std::optional<RunAndCheckpoint> resumed = given.run_to_resume(options);
  if (resumed) {
    read_run_options(resumed->run, defaults.task, list_options(then));
    options = then;
    // The command line overrides the options of the original run.
    const OptionParser again(argc, argv, description, list_options(options));
    if (again.exit_code()) return {options, again.exit_code()};
    if (given.line().is_given("--steps")) options.epochs = 0;
    options.resume = resumed->run;
    options.resume_from = resumed->checkpoint;
  }
  complete(options, given.line());
  options.layout = layout_words(list_options(options), list_options(then));
  if (resumed) require_same_run(list_options(options), list_options(then), resumed->run);
  return {options, std::nullopt};
}

/// Runs `body`; reports an exception in one line that begins with the program's name or LOCKSTEP_PROGRAM.
/// @return  The exit status for main().
[[nodiscard]] int run_guarded_training(const char* const* argv, const std::function<int()>& body) noexcept;

/// True if the program should end here: LOCKSTEP_CHECK_OPTIONS is set and the options are valid (for WORLD_SIZE too). A
/// launcher uses this once before it starts many ranks.
/// @throws UsageError  They are invalid.
[[nodiscard]] bool only_checks_options(const RunOptions& options);

/// The main() of a training program: parse_options(), then `train`, inside run_guarded_training().
/// @return  The exit status for main().
template <std::derived_from<RunOptions> Options, std::invocable<const Options&> Train>
[[nodiscard]] int run_training(int argc, const char* const* argv, const std::string& description,
                               const Options& defaults, const Train& train) noexcept {
  return run_guarded_training(argv, [&]() -> int {
    const ParsedOptions<Options> parsed = parse_options(argc, argv, description, defaults);
    if (parsed.exit_code) return *parsed.exit_code;
    if (only_checks_options(parsed.options)) return 0;
    limit_memory(parsed.options);
    return train(parsed.options);
  });
}

}  // namespace lockstep::run
