#pragma once
/// @file
/// Command lines that answer a wrong option with what was meant.
#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace lockstep {

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
[[nodiscard]] int run_main(CLI::App& app, int argc, const char* const* argv, const std::function<int()>& body);

/// Runs `body` and prints what it throws as one line on standard error, "program: message".
/// @return  `body`'s result; 2 after a UsageError, 77 after an UnavailableError, 1 after any other exception.
[[nodiscard]] int run_guarded(const std::string& program, const std::function<int()>& body) noexcept;

}  // namespace lockstep
