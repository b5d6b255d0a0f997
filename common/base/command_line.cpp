#include "base/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>

#include "base/error.hpp"
#include "base/nearest_match.hpp"

namespace lockstep {
namespace {

// The subcommand that was being parsed, so that its options are the candidates.
const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.back());
}

std::string full_name(const CLI::App& app, const std::string& program) {
  return app.get_parent() == nullptr ? program : full_name(*app.get_parent(), program) + " " + app.get_name();
}

enum class Words { kOptions, kCommands };

// Names of the options (without their dashes) or of the subcommands.
std::vector<std::string> words_of(const CLI::App& app, Words kind) {
  std::vector<std::string> words;
  if (kind == Words::kCommands) {
    for (const CLI::App* sub : app.get_subcommands(nullptr)) {
      if (!sub->get_group().empty()) words.push_back(sub->get_name());
    }
    return words;
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back(name);
  }
  return words;
}

std::string explain_extra(const CLI::App& app, const std::string& extra) {
  const std::string word = extra.substr(0, extra.find('='));
  if (word.rfind("-", 0) == 0) {
    const auto meant =
        nearest_match(word.substr(std::min(word.find_first_not_of('-'), word.size())), words_of(app, Words::kOptions));
    return concat("unknown option ", word, meant ? concat("; did you mean --", *meant, "?") : "");
  }
  const std::vector<std::string> commands = words_of(app, Words::kCommands);
  return concat(commands.empty() ? "unexpected argument " : "unknown command ", word, did_you_mean(word, commands));
}

int report(const CLI::App& app, const std::string& program, const std::string& message) {
  const std::string name = full_name(app, program);
  std::cerr << name << ": " << message << "  (" << name << " --help lists what there is)\n";
  return 2;
}

}  // namespace

CommandLine::Option CommandLine::Option::check(const OptionCheck& check) const {
  option_->check(check);
  return *this;
}

CommandLine::Option CommandLine::Option::required() const {
  option_->required();
  return *this;
}

CommandLine::Option CommandLine::Option::hidden() const {
  option_->group("");
  return *this;
}

bool CommandLine::Option::is_given() const { return option_->count() > 0; }

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->option_defaults()->always_capture_default()->delimiter(',');
}

CommandLine::~CommandLine() = default;

template <OptionValue T>
CommandLine::Option CommandLine::add_option(const std::string& name, T& value, const std::string& help) {
  return Option(*app_->add_option(name, value, help));
}

template CommandLine::Option CommandLine::add_option(const std::string&, int&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::int64_t&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::uint64_t&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, double&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::string&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::optional<std::string>&,
                                                     const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::vector<int>&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::vector<std::int64_t>&,
                                                     const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::vector<std::string>&, const std::string&);

CommandLine::Option CommandLine::add_flag(const std::string& names, bool& value, const std::string& help) {
  return Option(*app_->add_flag(names, value, help));
}

std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  const std::string program =
      app.get_name().empty() ? std::filesystem::path(argv[0]).filename().string() : app.get_name();
  app.name(program);
  app.failure_message([](const CLI::App*, const CLI::Error&) { return std::string(); });
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ExtrasError&) {
    const CLI::App& chosen = innermost(app);
    std::vector<std::string> extras = chosen.remaining();
    if (extras.empty()) extras = app.remaining(true);
    return report(chosen, program, explain_extra(chosen, extras.empty() ? "?" : extras.front()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    return report(innermost(app), program, error.what());
  }
}

int run_main(CommandLine& line, int argc, const char* const* argv, const std::function<int()>& body) {
  if (const std::optional<int> done = parse_command_line(line.app(), argc, argv)) return *done;
  return run_guarded(line.app().get_name(), body);
}

int run_guarded(const std::string& program, const std::function<int()>& body) noexcept {
  const auto report_error = [&program](const std::exception& error, int exit_code) {
    std::cout.flush();
    std::cerr << concat(program, ": ", error.what(), "\n");  // one write: ranks share the stream
    return exit_code;
  };
  try {
    return body();
  } catch (const UsageError& error) {
    return report_error(error, 2);
  } catch (const UnavailableError& error) {
    return report_error(error, 77);
  } catch (const std::exception& error) {
    return report_error(error, 1);
  }
}

}  // namespace lockstep
