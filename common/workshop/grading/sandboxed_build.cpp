#include "grading/sandboxed_build.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/plain_text.hpp"
#include "base/replace.hpp"
#include "exercise/trial_layout.hpp"
#include "exercise_tool/build_work.hpp"
#include "grading/compiler_words.hpp"
#include "grading/manifest.hpp"
#include "grading/private_files.hpp"
#include "grading/process_tree.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;
using exercise::Workspace;

constexpr const char* kName = "submission";  // instead of "solution"
constexpr const char* kMade = "made";        // the folder for the commands' output
constexpr Limits kCompiling{.memory_bytes = std::uint64_t{6} << 30, .seconds = 60};
constexpr Allowance kForCompiling{.wall_time = std::chrono::seconds(300), .output_bytes = 1 << 20};

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// All builds share ccache: no submission may write to it.
std::string without_ccache(const std::string& command) {
  const std::string first = command.substr(0, command.find(' '));
  return first == "ccache" || first.ends_with("/ccache") ? command.substr(first.size() + 1) : command;
}

// All files of the build that the commands read: libraries, precompiled headers, translators, generated headers; by
// their paths in the build folder.
std::set<fs::path> parts_of_build(const Workspace& workspace, const std::vector<std::string>& commands,
                                  const std::string& own) {
  std::set<fs::path> parts;
  for (const std::string& command : commands) {
    for (std::string word : words_of(command)) {
      const bool is_folder_of_headers = word.starts_with("-I");
      if (is_folder_of_headers) word.erase(0, 2);
      const fs::path path = workspace.build / word;  // leaves an absolute word unchanged
      const fs::path part = path.lexically_relative(workspace.build);
      std::error_code missing;
      if (word.find(own) != std::string::npos || part.empty() || *part.begin() == "..") continue;
      if (fs::is_regular_file(path, missing) || (is_folder_of_headers && fs::is_directory(path, missing)))
        parts.insert(part);
      if (fs::is_regular_file(path.string() + ".gch", missing)) parts.insert(part.string() + ".gch");
    }
  }
  return parts;
}

// Makes the folders that the commands write to or enter.
void make_folders(const Workspace& workspace, const std::vector<std::string>& commands, const std::string& own,
                  const fs::path& build) {
  fs::create_directories(build / "exercises");
  for (const std::string& command : commands) {
    for (const std::string& word : words_of(command)) {
      const fs::path part = (workspace.build / word).lexically_relative(workspace.build);
      if (part.empty() || *part.begin() == "..") continue;
      std::error_code missing;
      if (word.find(own) != std::string::npos && word.find('/') != std::string::npos)
        fs::create_directories(build / part.parent_path());
      else if (fs::is_directory(workspace.build / part, missing))
        fs::create_directories(build / part);
    }
  }
}

// The files visible below the project's root, and their places there.
std::vector<Mount> mounts_for(const Workspace& workspace, const fs::path& stage, const fs::path& scratch,
                              const std::set<fs::path>& parts) {
  const fs::path build = workspace.build.lexically_relative(workspace.root);
  std::vector<Mount> mounts;
  for (const char* folder : {"common", "chapters", "exercises"}) mounts.push_back({stage / folder, folder});
  mounts.push_back({scratch / "work", "work"});
  mounts.push_back({scratch / kMade, build, true});
  for (const fs::path& part : parts) mounts.push_back({workspace.build / part, build / part});
  return mounts;
}

// Without namespaces, builds the same tree from links in the scratch folder.
void make_tree_of_links(const fs::path& root, const std::vector<Mount>& mounts) {
  for (const Mount& mount : mounts) {
    const fs::path place = root / mount.to;
    if (fs::exists(place)) continue;  // already in the scratch folder
    fs::create_directories(place.parent_path());
    fs::create_symlink(mount.from, place);
  }
}

std::vector<fs::path> shared_libraries(const Workspace& workspace, const std::set<fs::path>& parts) {
  std::vector<fs::path> libraries;
  for (const fs::path& part : parts)
    if (part.filename().string().find(".so") != std::string::npos) libraries.push_back(workspace.build / part);
  return libraries;
}

std::vector<std::string> variables_for_compiler() {
  std::vector<std::string> variables = {"LC_ALL=C", "TMPDIR=/tmp"};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH"})
    if (const auto value = environment::get(name)) variables.push_back(concat(name, "=", *value));
  return variables;
}

std::string first_part(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most) + "\n...\n";
}

// One compilation.
struct Attempt {
  SubmittedProgram made;
  bool is_clear = false;  // the output or the used-up limits prove that the files are at fault
};

// Names the used-up limits of the sandbox. Space, memory and libraries of this machine are not the cause.
std::string limits_used_up(const Ended& ended) {
  if (ended.is_out_of_memory) return "the compiler was ended because it used too much memory\n";
  constexpr int kProcessorTime = 128 + 24;  // SIGXCPU
  if (ended.exit_code == kProcessorTime || ended.errors.find("CPU time limit") != std::string::npos)
    return concat("the compiler was ended after ", kCompiling.seconds, " s of processor time\n");
  return "";
}

Attempt explain(const Workspace& workspace, const fs::path& root, const Exercise& exercise, const Ended& ended) {
  constexpr std::size_t kMostText = 20'000;
  // A source may include a device that never answers: our template shows whether the machine is slow.
  if (ended.is_out_of_time) return {{.errors = "compiling took longer than five minutes\n"}};
  if (!ended.errors.starts_with(exercise::kSandboxMark))
    return {{.setup = concat("the sandbox for compiling did not start: ", first_part(ended.errors, kMostText))}};
  const std::string said = ended.errors.substr(std::string(exercise::kSandboxMark).size()) + ended.output;
  const std::string text =
      without_random_names(exercise::as_learner_knows(workspace, replaced(said, root.string() + "/", "")));
  const std::string limits = limits_used_up(ended);
  return {.made = {.errors = plain_text(text, kMostText, LineBreaks::kKeep) + "\n" + limits},
          .is_clear = !limits.empty() || is_about_files(text, exercise.files)};
}

}  // namespace

void make_stage(const Workspace& workspace, const fs::path& stage) {
  for (const char* folder : {"common", "chapters", "exercises"}) {
    for (const auto& entry : fs::recursive_directory_iterator(workspace.root / folder)) {
      const std::string ending = entry.path().extension();
      if (!entry.is_regular_file() || (ending != ".hpp" && ending != ".h" && ending != ".cuh")) continue;
      const fs::path to = stage / entry.path().lexically_relative(workspace.root);
      fs::create_directories(to.parent_path());
      fs::copy_file(entry.path(), to, fs::copy_options::overwrite_existing);
    }
  }
  let_others_read(stage);
}

namespace {

// The root of the sandbox's paths, and the files visible there.
struct Place {
  fs::path root, build;
  SandboxPlan plan;
};

Place prepare_place(const Workspace& workspace, const Sandbox& sandbox, const fs::path& stage, const fs::path& scratch,
                    const std::set<fs::path>& parts) {
  Place place{.root = sandbox.has_own_files() ? workspace.root : scratch,
              .build = {},
              .plan = {.mounts = mounts_for(workspace, stage, scratch, parts), .limits = kCompiling}};
  place.build = place.root / workspace.build.lexically_relative(workspace.root);
  if (sandbox.has_own_files()) {
    for (Mount& mount : place.plan.mounts) mount.to = place.root / mount.to;
    place.plan.folder = place.build;
  } else {
    fs::create_directories(place.build.parent_path());
    if (!fs::exists(place.build)) fs::create_directory_symlink(scratch / kMade, place.build);
    make_tree_of_links(place.root, place.plan.mounts);
  }
  return place;
}

Attempt build_once(const Workspace& workspace, const Exercise& exercise, const Files& files, const Sandbox& sandbox,
                   const fs::path& stage, const fs::path& scratch) {
  fs::remove_all(scratch);
  Attempt attempt;
  std::vector<fs::path> sources;
  for (const auto& [name, text] : files) {
    fs::create_directories((scratch / name).parent_path());
    write_file(scratch / name, text);
    sources.push_back(scratch / name);
  }
  std::vector<std::string> commands = exercise::build_commands(workspace, exercise, workspace.work(exercise), kName);
  const std::string own = concat("exercise_", exercise.target_name(), "_", kName);
  std::set<fs::path> parts = parts_of_build(workspace, commands, own);
  make_folders(workspace, commands, own, scratch / kMade);
  for (const fs::path& part : parts) fs::create_directories((scratch / kMade / part).parent_path());
  const Place place = prepare_place(workspace, sandbox, stage, scratch, parts);
  let_others_read(scratch);
  sandbox.hand_over(scratch / kMade);

  std::string script = concat("set -e\ncd ", place.build.string(), "\n");
  for (const std::string& command : commands)  // in parentheses: some change the folder
    script += "(" + replaced(without_ccache(command), workspace.root.string(), place.root.string()) + ")\n";
  std::vector<std::string> words = sandbox.prefix(place.plan);
  words.insert(words.end(), {"/bin/sh", "-c", script});
  const Ended ended = run_watched(words, variables_for_compiler(), scratch, kForCompiling);
  sandbox.end_processes_of_user();
  const fs::path program = scratch / kMade / "exercises" / own;
  const bool is_built = ended.exit_code == 0 && fs::is_regular_file(fs::symlink_status(program));
  if (is_built && ended.errors.starts_with(exercise::kSandboxMark))
    return {{.program = program, .libraries = shared_libraries(workspace, parts), .sources = sources}};
  return explain(workspace, place.root, exercise, ended);
}

Files template_files(const Workspace& workspace, const Exercise& exercise) {
  Files files;
  for (const std::string& file : exercise.files)
    files[path_in_submission(exercise, file)] = read_file(exercise.in(workspace.root / "exercises") / file);
  return files;
}

}  // namespace

SubmittedProgram build_submission(const Workspace& workspace, const Exercise& exercise, const Files& files,
                                  const Sandbox& sandbox, const fs::path& stage, const fs::path& scratch) {
  const Attempt first = build_once(workspace, exercise, files, sandbox, stage, scratch / "first");
  if (first.made.errors.empty() || first.is_clear) return first.made;
  const SubmittedProgram ours =
      build_once(workspace, exercise, template_files(workspace, exercise), sandbox, stage, scratch / "ours").made;
  if (!ours.setup.empty()) return ours;
  if (!ours.errors.empty())
    return {.setup = concat("the exercise's own template does not compile here either:\n", ours.errors)};
  return build_once(workspace, exercise, files, sandbox, stage, scratch / "second").made;
}

}  // namespace lockstep::grading
