#include "release/prebuilt.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "exercise_tool/shell.hpp"

namespace lockstep::release {
namespace {

namespace fs = std::filesystem;

void run_or_fail(const std::vector<std::string>& command, const fs::path& folder, const std::string& what) {
  const FinishedProcess done = exercise::run(command, folder, Collect::kBoth);
  if (done.exit_code != 0)
    throw Error(concat(what, " failed:\n",
                       done.output.substr(done.output.size() - std::min<std::size_t>(done.output.size(), 4000))));
}

// An object file of the build.
struct Object {
  std::string target;  // "lockstep_net"
  std::string source;  // relative to the root
  std::string path;    // relative to the build folder
};

// ".../chapters/04_kernels/translated/ladders/softmax/online.cu.cpp" comes from ladders/softmax/online.cu.
std::string source_of(const fs::path& root, const fs::path& build, const std::string& compiled) {
  const fs::path in_build = fs::path(compiled).lexically_relative(build);
  if (*in_build.begin() == "..") return fs::path(compiled).lexically_relative(root).string();
  return std::regex_replace(in_build.string(), std::regex(R"(/translated/(.*)\.cpp$)"), "/$1");
}

std::vector<Object> objects_of(const fs::path& root, const fs::path& build, const Plan& plan) {
  static const std::regex kOutput(R"( -o (\S*CMakeFiles/(\S+?)\.dir/\S+))");
  std::vector<Object> objects;
  for (const nlohmann::json& entry : parse_json(read_file(build / "compile_commands.json"))) {
    const std::string source = source_of(root, build, entry.at("file").get<std::string>());
    const std::string command = entry.at("command");
    std::smatch match;
    if (plan.giveaways.contains(source) && std::regex_search(command, match, kOutput))
      objects.push_back({match[2], source, match[1]});
  }
  return objects;
}

std::vector<std::string> programs_of(const Plan& plan) {
  std::set<std::string> programs;
  for (const exercise::Exercise& exercise : plan.exercises) {
    programs.insert(concat("judge_", exercise.id.substr(0, 2)));
    programs.insert(concat("exercise_", exercise.target_name(), "_bank"));
  }
  return {programs.begin(), programs.end()};
}

void strip(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  run_or_fail({"strip", "--strip-unneeded", "--remove-section=.comment", "-o", to.string(), from.string()},
              from.parent_path(), "strip");
}

}  // namespace

void write_prebuilt(const PrebuiltOptions& options, const Plan& plan, const fs::path& folder) {
  const fs::path build = options.root / "build" / options.preset;
  run_or_fail({"cmake", "--preset", options.preset}, options.root, "configuring");
  const std::vector<Object> objects = objects_of(options.root, build, plan);
  const std::vector<std::string> programs = programs_of(plan);
  std::vector<std::string> command = exercise::ninja_in(build);
  if (options.jobs > 0) command.insert(command.end(), {"-j", std::to_string(options.jobs)});
  for (const Object& object : objects) command.push_back(object.path);
  command.insert(command.end(), programs.begin(), programs.end());
  run_or_fail(command, options.root, "compiling");
  for (const Object& object : objects)
    strip(build / object.path, folder / "objects" / object.target / (object.source + ".o"));
  for (const std::string& program : programs) strip(build / "exercises" / program, folder / "exercises" / program);
}

}  // namespace lockstep::release
