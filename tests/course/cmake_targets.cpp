#include "cmake_targets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "project_files.hpp"

namespace lockstep::checks {

namespace {

namespace fs = std::filesystem;

using Lists = std::map<std::string, std::vector<std::string>>;

std::string without_comments(const std::string& text) {
  std::string kept;
  bool is_quoted = false;
  bool is_comment = false;
  for (const char character : text) {
    if (character == '\n')
      is_comment = false;
    else if (character == '"' && !is_comment)
      is_quoted = !is_quoted;
    else if (character == '#' && !is_quoted)
      is_comment = true;
    if (!is_comment) kept += character;
  }
  return kept;
}

std::vector<std::string> split_arguments(const std::string& text) {
  std::vector<std::string> arguments;
  std::string current;
  bool is_quoted = false;
  for (const char character : text + " ") {
    if (character == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (std::isspace(static_cast<unsigned char>(character)) != 0 || character == ';')) {
      if (!current.empty()) arguments.push_back(current);
      current.clear();
    } else {
      current += character;
    }
  }
  return arguments;
}

/// Groups what follows each keyword; what stands before the first is under "".
Lists split_by_keyword(const std::vector<std::string>& arguments) {
  static const std::set<std::string> kKeywords = {
      "HEADERS",  "SOURCES",         "DEPENDS",  "PRIVATE_DEPENDS", "LABELS",
      "PROGRAMS", "PROGRAM_DEPENDS", "TIMEOUT",  "SERIAL",          "PUBLIC",
      "PRIVATE",  "INTERFACE",       "FILE_SET", "BASE_DIRS",       "FILES"};
  static constexpr std::string_view kLinkOnly = "$<LINK_ONLY:";  // linked, but its options not taken over
  Lists lists;
  std::string keyword;
  for (const std::string& argument : arguments) {
    if (kKeywords.contains(argument))
      keyword = argument;
    else if (argument.starts_with(kLinkOnly))
      lists[keyword].push_back(argument.substr(kLinkOnly.size(), argument.size() - kLinkOnly.size() - 1));
    else
      lists[keyword].push_back(argument);
  }
  return lists;
}

std::vector<std::string> below(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back((fs::path(folder) / name).lexically_normal().generic_string());
  return paths;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// "lockstep_net" and "lockstep::net" are one target.
std::string canonical_name(const std::string& name) {
  return name.starts_with("lockstep_") && !name.ends_with("_test") ? "lockstep::" + name.substr(9) : name;
}

class Reader {
 public:
  explicit Reader(std::string folder) : folder_(std::move(folder)) {}

  void read(const CmakeCommand& command, std::map<std::string, Target>& targets) {
    if (command.arguments.empty()) return;
    const std::string& name = command.arguments[0];
    Lists lists = split_by_keyword({command.arguments.begin() + 1, command.arguments.end()});
    if (command.name == "lockstep_module") {
      targets["lockstep::" + name] = library("lockstep::" + name, lists);
    } else if (command.name == "lockstep_emulator_part") {
      targets["lockstep::emulator_" + name] = library("lockstep::emulator_" + name, lists);
    } else if (command.name == "lockstep_chapter") {
      read_chapter(name, lists, targets);
    } else if (command.name == "lockstep_program" || command.name == "lockstep_cuda_program") {
      targets[name] = program(name, lists["SOURCES"], lists["DEPENDS"]);
    } else if (command.name == "lockstep_test") {
      append(lists["DEPENDS"], {"lockstep::test_support"});
      targets[name] = program(name, lists["SOURCES"], lists["DEPENDS"]);
    } else if (command.name == "lockstep_emulated_library") {
      for (const char* kind : {"_plain", "_checked"}) {
        targets[name + kind] = program(name + kind, lists["SOURCES"], lists["DEPENDS"]);
        append(targets[name + kind].private_depends, {"lockstep::emulator"});
      }
    } else if (command.name == "add_library" || command.name == "add_executable") {
      read_plain(name, lists[""], targets);
    } else if (command.name == "target_link_libraries" && targets.contains(canonical_name(name))) {
      Target& target = targets[canonical_name(name)];
      for (const char* visibility : {"PUBLIC", "INTERFACE"}) append(target.public_depends, lists[visibility]);
      append(target.private_depends, lists["PRIVATE"]);
    } else if (command.name == "target_sources" && targets.contains(canonical_name(name))) {
      append(targets[canonical_name(name)].sources, below(folder_, lists["PRIVATE"]));
      append(targets[canonical_name(name)].headers, below(folder_, lists["FILES"]));
    }
  }

 private:
  Target library(const std::string& name, Lists& lists) const {
    return {name,
            folder_,
            below(folder_, lists["HEADERS"]),
            below(folder_, lists["SOURCES"]),
            lists["DEPENDS"],
            lists["PRIVATE_DEPENDS"]};
  }

  Target program(const std::string& name, const std::vector<std::string>& sources,
                 const std::vector<std::string>& depends) const {
    return {name, folder_, {}, below(folder_, sources), {}, depends};
  }

  void read_chapter(const std::string& name, Lists& lists, std::map<std::string, Target>& targets) const {
    std::vector<std::string> depends = lists["PROGRAM_DEPENDS"];
    if (!lists["HEADERS"].empty() || !lists["SOURCES"].empty()) {
      targets["lockstep::" + name] = library("lockstep::" + name, lists);
      depends.push_back("lockstep::" + name);
    }
    for (const std::string& each : lists["PROGRAMS"]) {
      targets[each] = program(each, {"programs/" + each + ".cpp"}, depends);
    }
  }

  void read_plain(const std::string& name, const std::vector<std::string>& arguments,
                  std::map<std::string, Target>& targets) const {
    static const std::set<std::string> kNoFiles = {"STATIC", "SHARED",   "OBJECT",
                                                   "MODULE", "IMPORTED", "EXCLUDE_FROM_ALL"};
    if (std::find(arguments.begin(), arguments.end(), "ALIAS") != arguments.end()) return;
    std::vector<std::string> sources;
    for (const std::string& argument : arguments) {
      if (!kNoFiles.contains(argument)) sources.push_back(argument);
    }
    targets[canonical_name(name)] = program(canonical_name(name), sources, {});
  }

  std::string folder_;
};

}  // namespace

std::vector<CmakeCommand> parse_cmake(const std::string& text) {
  const std::string code = without_comments(text);
  std::vector<CmakeCommand> commands;
  std::size_t position = 0;
  while (true) {
    const std::size_t open = code.find('(', position);
    if (open == std::string::npos) return commands;
    int depth = 1;
    std::size_t close = open + 1;
    while (close < code.size() && depth > 0) {
      if (code[close] == '(') ++depth;
      if (code[close] == ')') --depth;
      ++close;
    }
    const std::string name(course::trim(std::string_view(code).substr(position, open - position)));
    commands.push_back({name, split_arguments(code.substr(open + 1, close - open - 2))});
    position = close;
  }
}

std::map<std::string, Target> read_targets(const fs::path& root, const std::vector<std::string>& paths) {
  std::map<std::string, Target> targets;
  for (const std::string& path : paths) {
    if (fs::path(path).filename() != "CMakeLists.txt") continue;
    std::string text;
    for (const std::string& line : read_project_file(root, path).lines) text += line + "\n";
    Reader reader(fs::path(path).parent_path().generic_string());
    for (const CmakeCommand& command : parse_cmake(text)) reader.read(command, targets);
  }
  return targets;
}

}  // namespace lockstep::checks
