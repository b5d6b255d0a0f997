#pragma once
/// @file
/// Command lines that answer a wrong option with the nearest right one.
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/option_checks.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lockstep {

/// Types of option values.
template <typename T>
concept OptionValue = std::same_as<T, int> || std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> ||
    std::same_as<T, double> || std::same_as<T, std::string> || std::same_as<T, std::optional<std::string>> ||
    std::same_as<T, std::filesystem::path> || std::same_as<T, std::vector<int>> ||
    std::same_as<T, std::vector<std::int64_t>> || std::same_as<T, std::vector<std::string>> ||
    std::same_as<T, std::vector<std::filesystem::path>>;

/// A program's command line. Values go into the given variables; their previous contents are the defaults, which --help
/// shows. If an option is given twice, the last one counts; a vector gets the values of all. Hides CLI11, which takes
/// longer to compile than most of our programs.
///
///     CommandLine app("Sums what clients send");
///     app.add_option("--port", port, "The server's port").check(whole_number(1, 65535));
///     return run_main(app, argc, argv, [&] { return serve(port); });
class CommandLine {
 public:
  /// One option. Valid while its command line lives.
  class Option {
   public:
    /// Checks each value.
    Option check(const OptionCheck& check) const;
    /// The program does not run without it; --help shows no default.
    Option required() const;
    /// The name of the value in --help, such as "FILE".
    Option type_name(const std::string& name) const;
    /// --help shows no default: the variable's content stands for something else.
    Option without_default() const;
    /// The option may be given without a value; its variable then becomes empty.
    Option allow_no_value() const;
    /// For a vector: the most values, summed over all occurrences of the option.
    Option at_most(int values) const;
    /// Leaves it out of --help.
    Option hidden() const;

   private:
    friend class CommandLine;
    explicit Option(CLI::Option& option) noexcept : option_(&option) {}
    CLI::Option* option_;
  };

  /// @param description  The program's purpose, in a sentence. @param name  Empty: the file's.
  explicit CommandLine(const std::string& description, const std::string& name = "");
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// `--name value`; without dashes, a positional argument. A vector takes several values, separated by commas (unless
  /// they are paths) or spaces.
  template <OptionValue T>
  Option add_option(const std::string& name, T& value, const std::string& help = "");

  /// `--name`, which makes `value` true; "--name,!--no-name" also allows the reverse.
  Option add_flag(const std::string& names, bool& value, const std::string& help);

  /// Shown by --help below the options.
  void footer(const std::string& text);

  /// Reads the command line into the variables. If the program should not go on, because help was asked for or
  /// something is wrong, prints the help or the error and returns the exit code: 0 after help, 2 after an error, for
  /// example `server: unknown option --prot; did you mean --port?` on standard error.
  /// @return  Nothing if the program should go on.
  [[nodiscard]] std::optional<int> parse(int argc, const char* const* argv);
  /// The same for the arguments after the program's name.
  [[nodiscard]] std::optional<int> parse(const std::vector<std::string>& arguments);

  /// Whether an option, such as "--port", was on the parsed command line.
  /// @throws std::exception  There is no such option.
  [[nodiscard]] bool is_given(const std::string& name) const;

  /// The program's name, with which messages begin.
  [[nodiscard]] std::string name() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

/// The main of a simple program: parses the command line, runs `body`, and prints an exception as one line on standard
/// error: `server: message`.
/// @return  CommandLine::parse()'s exit code if it ends the program, else run_guarded's result.
[[nodiscard]] int run_main(CommandLine& line, int argc, const char* const* argv, const std::function<int()>& body);

/// Runs `body` and prints an exception as one line on standard error, "program: message". Also prints a line if
/// standard output could not be written (a full disk); the result stays.
/// @return  `body`'s result; 2 after a UsageError, 77 after an UnavailableError, 1 after any other exception.
[[nodiscard]] int run_guarded(const std::string& program, const std::function<int()>& body) noexcept;

}  // namespace lockstep
