#pragma once
/// @file
/// Command lines that answer a wrong option with what was meant.
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

/// What an option's value may be read into.
template <typename T>
concept OptionValue = std::same_as<T, int> || std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> ||
    std::same_as<T, double> || std::same_as<T, std::string> || std::same_as<T, std::optional<std::string>> ||
    std::same_as<T, std::filesystem::path> || std::same_as<T, std::vector<int>> ||
    std::same_as<T, std::vector<std::int64_t>> || std::same_as<T, std::vector<std::string>> ||
    std::same_as<T, std::vector<std::filesystem::path>>;

/// What a program may be told on its command line. Variables get what is given; their values before are the defaults,
/// and --help shows them. Of an option given twice the last one counts; a vector gets the values of all. It is CLI11
/// underneath, which takes longer to compile than most of our programs: they see this much of it.
///
///     CommandLine app("Sums what clients send");
///     app.add_option("--port", port, "The server's port").check(whole_number(1, 65535));
///     return run_main(app, argc, argv, [&] { return serve(port); });
class CommandLine {
 public:
  /// One option. Valid as long as its command line is.
  class Option {
   public:
    /// Looks at the value, at each of several.
    Option check(const OptionCheck& check) const;
    /// The program does not run without it; --help shows no default.
    Option required() const;
    /// What --help shows for the value, such as "FILE".
    Option type_name(const std::string& name) const;
    /// --help shows no default: what the variable holds stands for something else.
    Option without_default() const;
    /// The option may stand alone; its variable then becomes empty.
    Option allow_no_value() const;
    /// For a vector: the most values, over all times that the option is given.
    Option at_most(int values) const;
    /// --help does not show it.
    Option hidden() const;

   private:
    friend class CommandLine;
    explicit Option(CLI::Option& option) noexcept : option_(&option) {}
    CLI::Option* option_;
  };

  /// @param description  What the program does, in a sentence. @param name  Empty: the file's.
  explicit CommandLine(const std::string& description, const std::string& name = "");
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// `--name value`; without dashes an argument that is known by its place. A vector takes several values, with commas
  /// (unless they are paths) or spaces between them.
  template <OptionValue T>
  Option add_option(const std::string& name, T& value, const std::string& help = "");

  /// `--name`, which makes `value` true; "--name,!--no-name": and the reverse.
  Option add_flag(const std::string& names, bool& value, const std::string& help);

  /// What --help says below the options.
  void footer(const std::string& text);

  /// Reads the command line into the variables. Where there is nothing more to do (help was asked for, or something is
  /// wrong) it has printed that and returns the exit code: 0 after help, 2 after a wrong command line, which is
  /// answered with one line on standard error: `server: unknown option --prot; did you mean --port?`.
  /// @return  Nothing where the program shall go on.
  [[nodiscard]] std::optional<int> parse(int argc, const char* const* argv);
  /// The same for what follows the program's name.
  [[nodiscard]] std::optional<int> parse(const std::vector<std::string>& arguments);

  /// Whether an option, "--port", was on the command line that has been parsed.
  /// @throws std::exception  There is no such option.
  [[nodiscard]] bool is_given(const std::string& name) const;

  /// The program's name, as messages begin with it.
  [[nodiscard]] std::string name() const;

 private:
  std::unique_ptr<CLI::App> app_;
};

/// All that a simple program's main does: parses the command line, runs `body`, and prints what it throws as one line
/// on standard error: `server: message`.
/// @return  CommandLine::parse()'s exit code where that ends the program, else run_guarded's result.
[[nodiscard]] int run_main(CommandLine& line, int argc, const char* const* argv, const std::function<int()>& body);

/// Runs `body` and prints what it throws as one line on standard error, "program: message". A line also says if
/// standard output could not be written (a full disk); the result stays.
/// @return  `body`'s result; 2 after a UsageError, 77 after an UnavailableError, 1 after any other exception.
[[nodiscard]] int run_guarded(const std::string& program, const std::function<int()>& body) noexcept;

}  // namespace lockstep
