#pragma once
/// @file
/// Command lines that answer a wrong option with what was meant.
#include <concepts>
#include <cstdint>
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
    std::same_as<T, std::vector<int>> || std::same_as<T, std::vector<std::int64_t>> ||
    std::same_as<T, std::vector<std::string>>;

/// What a program may be told on its command line. Variables get what is given; their values before are the defaults,
/// and --help shows them. It is CLI11 underneath, which takes longer to compile than most of our programs: they see
/// this much of it.
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
    /// The program does not run without it.
    Option required() const;
    /// --help does not show it.
    Option hidden() const;
    /// Whether it was on the command line that has been parsed.
    [[nodiscard]] bool is_given() const;

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
  /// or spaces between them.
  template <OptionValue T>
  Option add_option(const std::string& name, T& value, const std::string& help = "");

  /// `--name`, which makes `value` true; "--name,!--no-name": and the reverse.
  Option add_flag(const std::string& names, bool& value, const std::string& help);

  /// For parse_command_line(), and whatever else CLI11 can do.
  [[nodiscard]] CLI::App& app() noexcept { return *app_; }

 private:
  std::unique_ptr<CLI::App> app_;
};

/// Parses the command line with `app`. Where there is nothing more to do (help was asked for, or something is wrong)
/// it has printed that and returns the exit code: 0 after help, 2 after a wrong command line, which is answered with
/// one line on standard error: `server: unknown option --prot; did you mean --port?`.
///
///     CLI::App app("Sums what clients send");
///     app.add_option("--port", port, "...");
///     if (const std::optional<int> done = parse_command_line(app, argc, argv)) return *done;
///
/// @return  Nothing where the program shall go on.
[[nodiscard]] std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv);

/// All that a simple program's main does: parses the command line, runs `body`, and prints what it throws as one line
/// on standard error: `server: message`.
/// @return  parse_command_line's exit code where that ends the program, else run_guarded's result.
[[nodiscard]] int run_main(CommandLine& line, int argc, const char* const* argv, const std::function<int()>& body);

/// Runs `body` and prints what it throws as one line on standard error, "program: message".
/// @return  `body`'s result; 2 after a UsageError, 77 after an UnavailableError, 1 after any other exception.
[[nodiscard]] int run_guarded(const std::string& program, const std::function<int()>& body) noexcept;

}  // namespace lockstep
