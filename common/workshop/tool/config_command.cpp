#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "tool/command.hpp"
#include "tool/configuration.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

// Asks until the answer is allowed; an empty answer means `usual`.
std::string ask(const Setting& setting, const std::string& usual) {
  std::cout << "\n" << setting.question << ": " << setting.explanation << "\n";
  while (true) {
    std::cout << "  [" << usual << "] " << std::flush;
    std::string answer;
    if (!std::getline(std::cin, answer)) {
      std::cout << "\n";
      throw Error(concat("the input ended before ", setting.key, " was answered; nothing was written"));
    }
    const auto first = answer.find_first_not_of(" \t\r");
    answer = first == std::string::npos ? usual : answer.substr(first, answer.find_last_not_of(" \t\r") + 1 - first);
    const std::string wrong = setting.check(answer);
    if (wrong.empty()) return answer;
    std::cout << "  " << wrong << "\n";
  }
}

Configuration ask_all(const fs::path& file) {
  if (isatty(STDIN_FILENO) == 0) {
    throw UsageError("there is no terminal to ask on; --default writes what suits this machine without asking");
  }
  const bool exists = fs::exists(file);
  const Configuration before = exists ? read_configuration(file) : Configuration();
  std::cout << "What " << tool_as_typed() << " launch starts jobs with. An empty answer takes the value in brackets"
            << (exists ? concat(", that of ", shown(file)) : "") << ".\n";
  Configuration configuration;
  for (const Setting& setting : settings()) {
    const auto old = before.find(setting.key);
    configuration[setting.key] = ask(setting, old != before.end() ? old->second : setting.suggestion);
  }
  return configuration;
}

Configuration suggestions(const fs::path& file) {
  if (fs::exists(file)) {
    throw UsageError(concat(file.string(), " exists, and --default does not replace it: remove it, or name another ",
                            "file with --config"));
  }
  Configuration configuration;
  for (const Setting& setting : settings()) configuration[setting.key] = setting.suggestion;
  return configuration;
}

}  // namespace

int config(const Arguments& arguments) {
  fs::path file;
  bool is_default = false;
  CommandLine app(
      "Asks how lockstep launch should start jobs on this machine, and writes a file with the answers.\n"
      "launch reads that file if no other is named; its own options override the file's values.",
      "lockstep config");
  app.add_option("--config,--config-file,--config_file", file,
                 "The file to write ($XDG_CONFIG_HOME/lockstep/config.json if left out; without XDG_CONFIG_HOME in "
                 "~/.config)")
      .type_name("FILE")
      .without_default();
  app.add_flag("--default", is_default, "Ask nothing: write what suits this machine");
  if (const auto done = app.parse(arguments)) return *done;
  if (file.empty()) file = default_configuration_file();
  const Configuration configuration = is_default ? suggestions(file) : ask_all(file);
  write_configuration(file, configuration);
  std::cout << (is_default ? "" : "\n") << "wrote " << shown(file) << ": " << describe(configuration) << "\n"
            << tool_as_typed() << " launch PROGRAM uses it"
            << (file == default_configuration_file() ? "" : concat(" with --config ", shown(file))) << "\n";
  return 0;
}

}  // namespace lockstep::tool
