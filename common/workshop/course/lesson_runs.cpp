#include "course/lesson_runs.hpp"

#include <regex>

#include "base/error.hpp"

namespace lockstep::course {

std::optional<RunDirective> parse_run_directive(const std::string& comment) {
  static const std::regex kStart(R"(run\b[^]*)");
  static const std::regex kForm(R"(run((?: unordered| rows| timeout=\d{1,3}| exit=\d{1,3})*)(?::\s*([^]*))?)");
  std::smatch match;
  if (!std::regex_match(comment, match, kStart)) return std::nullopt;
  if (!std::regex_match(comment, match, kForm)) {
    throw FormatError(
        concat("'", comment, "' is not of the form 'run [unordered] [rows] [timeout=S] [exit=N][: command]'"));
  }
  RunDirective directive;
  directive.command = match[2];
  const std::string options = match[1];
  directive.is_unordered = options.find("unordered") != std::string::npos;
  directive.is_of_rows = options.find("rows") != std::string::npos;
  if (const auto at = options.find("timeout="); at != std::string::npos) {
    directive.time_limit = std::chrono::seconds(std::stoi(options.substr(at + 8)));
  }
  if (const auto at = options.find("exit="); at != std::string::npos) {
    directive.exit_status = std::stoi(options.substr(at + 5));
  }
  return directive;
}

std::vector<ShownCommand> shown_commands(const FencedBlock& block, const RunDirective& directive) {
  std::vector<ShownCommand> commands;
  if (!directive.command.empty()) commands.push_back({directive.command, {}});
  bool goes_on = false;
  for (const std::string& line : block.lines) {
    const bool is_command = line.starts_with("$ ") || goes_on;
    if (is_command && directive.command.empty()) {
      if (!goes_on)
        commands.push_back({line.substr(2), {}});
      else
        commands.back().command += "\n" + line;
    } else if (!is_command && !commands.empty()) {
      commands.back().expected.push_back(line);
    }
    goes_on = is_command && line.ends_with('\\');
  }
  return commands;
}

std::string with_built_tool(const std::string& command) {
  static const std::regex kScript(R"((^|[\s;&|(])\./lockstep(?=\s|$))");
  return std::regex_replace(command, kScript, "$1LOCKSTEP_ROOT=\"$$PWD\" lockstep");
}

}  // namespace lockstep::course
