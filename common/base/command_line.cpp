#include "base/command_line.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <system_error>

#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "base/replace.hpp"
#include "base/terminal.hpp"
#include "base/utf8.hpp"

namespace lockstep {
namespace {

constexpr int kHelpColumn = 32;  // where the explanation of an option begins

template <typename T>
constexpr bool kIsVector = false;
template <typename T>
constexpr bool kIsVector<std::vector<T>> = true;

std::string explain_extra(const CLI::App& app, const std::string& extra) {
  const std::string word = extra.substr(0, extra.find('='));
  if (word.rfind("-", 0) != 0) return concat("unexpected argument ", word);
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back(name);
  }
  const auto meant = nearest_match(word.substr(std::min(word.find_first_not_of('-'), word.size())), known);
  return concat("unknown option ", word, meant ? concat("; did you mean --", *meant, "?") : "");
}

int report(const CLI::App& app, const std::string& message) {
  const std::string& name = app.get_name();
  std::cerr << wrap_for(STDERR_FILENO,
                        concat(name, ": ", printable(message), "  (", name, " --help lists the options)\n"));
  return 2;
}

// CLI11 shows a flag that takes something back as "--no-x{false}".
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return replaced(Formatter::make_option_name(option, is_positional), "{false}", "");
  }
};

// CLI11 leaves long lines to the terminal, which breaks them inside words.
void print_help(const CLI::App& app) {
  std::istringstream lines(app.help());
  for (std::string line; std::getline(lines, line);)
    std::cout << wrap_for(STDOUT_FILENO, line + "\n", line.starts_with("  ") ? kHelpColumn : 0);
}

// CLI11 2.4 compares only the values of one occurrence with the limit.
bool has_too_many_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::size_t most = static_cast<std::size_t>(option->get_items_expected_max());
    if (option->get_multi_option_policy() != CLI::MultiOptionPolicy::TakeAll || option->count() <= most) continue;
    report(app, concat(option->get_name(), ": ", option->count(), " values are too many; it takes at most ", most));
    return true;
  }
  return false;
}

}  // namespace

CommandLine::Option CommandLine::Option::check(const OptionCheck& check) const {
  option_->check(check);
  return *this;
}

CommandLine::Option CommandLine::Option::required() const {
  option_->required()->default_str("");
  return *this;
}

CommandLine::Option CommandLine::Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

CommandLine::Option CommandLine::Option::without_default() const {
  option_->default_str("");
  return *this;
}

CommandLine::Option CommandLine::Option::allow_no_value() const {
  option_->expected(0, 1);
  return *this;
}

CommandLine::Option CommandLine::Option::at_most(int values) const {
  option_->expected(1, values);
  return *this;
}

CommandLine::Option CommandLine::Option::hidden() const {
  option_->group("");
  return *this;
}

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->option_defaults()->always_capture_default();
  app_->failure_message([](const CLI::App*, const CLI::Error&) { return std::string(); });
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->get_formatter()->column_width(kHelpColumn);
  app_->get_formatter()->label("INT", "N");
  app_->get_formatter()->label("UINT", "N");
  app_->get_formatter()->label("FLOAT", "X");
}

CommandLine::~CommandLine() = default;

template <OptionValue T>
CommandLine::Option CommandLine::add_option(const std::string& name, T& value, const std::string& help) {
  CLI::Option* const option = app_->add_option(name, value, help);
  if constexpr (kIsVector<T>) {
    option->take_all();
    if constexpr (!std::same_as<T, std::vector<std::filesystem::path>>) option->delimiter(',');
  } else {
    option->take_last();
  }
  return Option(*option);
}

template CommandLine::Option CommandLine::add_option(const std::string&, int&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::int64_t&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::uint64_t&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, double&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::string&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::optional<std::string>&,
                                                     const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::filesystem::path&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::vector<int>&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::vector<std::int64_t>&,
                                                     const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template CommandLine::Option CommandLine::add_option(const std::string&, std::vector<std::filesystem::path>&,
                                                     const std::string&);

CommandLine::Option CommandLine::add_flag(const std::string& names, bool& value, const std::string& help) {
  return Option(*app_->add_flag(names, value, help));
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
  if (app_->get_name().empty()) app_->name(std::filesystem::path(argv[0]).filename().string());
  try {
    app_->parse(argc, argv);
    return has_too_many_values(*app_) ? std::optional<int>(2) : std::nullopt;
  } catch (const CLI::ExtrasError&) {
    return report(*app_, explain_extra(*app_, app_->remaining().front()));
  } catch (const CLI::CallForHelp&) {
    print_help(*app_);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app_->exit(error);
    return report(*app_, error.what());
  }
}

std::optional<int> CommandLine::parse(const std::vector<std::string>& arguments) {
  const std::string program = name();
  std::vector<const char*> argv = {program.c_str()};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return parse(static_cast<int>(argv.size()), argv.data());
}

bool CommandLine::is_given(const std::string& name) const { return app_->count(name) > 0; }

std::string CommandLine::name() const { return app_->get_name(); }

int run_main(CommandLine& line, int argc, const char* const* argv, const std::function<int()>& body) {
  if (const std::optional<int> done = line.parse(argc, argv)) return *done;
  return run_guarded(line.name(), body);
}

namespace {

// Adds the details that the standard library's own exceptions leave out.
std::string explain(const std::exception& error) {
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  const auto* const file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (system != nullptr && file == nullptr && system->code() == std::errc::resource_unavailable_try_again)
    return concat("no thread can be started (", error.what(),
                  "): as many run as `ulimit -u`, the container's pids limit ",
                  "or memory allow; end other programs, or raise the limit");
  std::error_code ignored;
  const bool lacks_proc = file != nullptr && file->path1().string().starts_with("/proc/") &&
                          !std::filesystem::exists("/proc/self", ignored);
  if (lacks_proc) return concat(error.what(), ": /proc is not there; mount -t proc proc /proc");
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  return error.what();
}

// Output is often a log: if it is lost, a run that has done its work has not failed.
void report_lost_output(const std::string& program) {
  std::cout.flush();
  if (!std::cout)
    std::cerr << concat(program, ": some output is lost: standard output could not be written (is its disk full?)\n");
}

}  // namespace

int run_guarded(const std::string& program, const std::function<int()>& body) noexcept {
  const auto report_error = [&program](const std::exception& error, int exit_code) {
    std::cout.flush();
    // One write: ranks share the stream.
    std::cerr << wrap_for(STDERR_FILENO, concat(program, ": ", printable(explain(error)), "\n"));
    return exit_code;
  };
  try {
    const int exit_code = body();
    report_lost_output(program);
    return exit_code;
  } catch (const UsageError& error) {
    return report_error(error, 2);
  } catch (const UnavailableError& error) {
    return report_error(error, 77);
  } catch (const std::exception& error) {
    return report_error(error, 1);
  }
}

}  // namespace lockstep
