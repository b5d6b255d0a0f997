#include "grading/given_checks.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "exercise_tool/build_work.hpp"
#include "grading/judging.hpp"
#include "grading/manifest.hpp"
#include "grading/sandboxed_build.hpp"
#include "grading/student_files.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;
using exercise::Workspace;

constexpr const char* kTodo = "lockstep::todo(";

// True if a line begins a function definition: at the margin, and not a brace, a comment or a directive.
bool begins_definition(const std::string& line) {
  return !line.empty() && std::string(" \t}{/#)").find(line.front()) == std::string::npos &&
         !line.starts_with("namespace") && !line.starts_with("using");
}

Files files_with_empty_functions(const Workspace& workspace, const Exercise& exercise) {
  Files files;
  for (const std::string& file : exercise.files)
    files[path_in_submission(exercise, file)] =
        with_empty_functions(read_file(exercise.in(workspace.root / "exercises") / file));
  return files;
}

bool has_todo(const Workspace& workspace, const Exercise& exercise) {
  return std::ranges::any_of(exercise.files, [&](const std::string& file) {
    return read_file(exercise.in(workspace.root / "exercises") / file).find(kTodo) != std::string::npos;
  });
}

// Names of the checks that passed, and of all checks.
struct Checks {
  std::set<std::string> passed, all;
};

Checks judged_checks(const fs::path& program, const Trying& trying) {
  const JudgeReport judged = judge_program(program, trying);
  if (!judged.setup.empty()) throw Error(concat("the template of ", trying.exercise.id, ": ", judged.setup));
  Checks checks;
  for (const nlohmann::json& check : judged.report.at("checks")) {
    checks.all.insert(check.at("name").get<std::string>());
    if (check.at("verdict") == "passed") checks.passed.insert(check.at("name").get<std::string>());
  }
  return checks;
}

void require_weights_of_checks(const Exercise& exercise, const std::set<std::string>& names) {
  for (const auto& [name, weight] : exercise.weights)
    if (!names.contains(name))
      throw FormatError(concat("exercise.json of ", exercise.id, " gives a weight to \"", name,
                               "\", and the judge has no check of that name"));
}

// Fingerprint of everything that the answer depends on.
std::string fingerprint_of(const Workspace& workspace, const Exercise& exercise, const Sandbox& sandbox) {
  std::string text = concat(static_cast<int>(sandbox.kind()), sha256_hex(read_file(judge_of(workspace, exercise))),
                            sha256_hex(read_file(program_of(workspace, exercise, "template"))));
  for (const auto& [name, weight] : exercise.weights) text += concat(name, "=", weight, "\n");
  return sha256_hex(text);
}

class GivenChecks {
 public:
  GivenChecks(const Workspace& workspace, const Settings& settings, const Sandbox& sandbox)
      : workspace_(workspace), settings_(settings), sandbox_(sandbox), file_(settings.out / "given_checks.json") {
    try {
      known_ = parse_json(read_file(file_));
    } catch (const std::exception&) {
      known_ = nlohmann::json::object();  // missing or damaged: computed again
    }
  }

  std::set<std::string> of(const Exercise& exercise) {
    const std::string fingerprint = fingerprint_of(workspace_, exercise, sandbox_);
    if (const auto found = before(exercise, fingerprint)) return *found;
    const Checks given = judged_checks(program_of(workspace_, exercise, "template"), trying(exercise));
    require_weights_of_checks(exercise, given.all);
    std::set<std::string> names = given.passed;
    if (has_todo(workspace_, exercise)) names.merge(passed_by_empty_functions(exercise));
    known_[exercise.id] = {{"fingerprint", fingerprint}, {"checks", names}};
    return names;
  }

  void save() const { replace_file(file_, dump_json(known_, 1) + "\n"); }

 private:
  [[nodiscard]] Trying trying(const Exercise& exercise) const {
    return {.workspace = workspace_, .exercise = exercise, .patience = 2};
  }

  [[nodiscard]] std::optional<std::set<std::string>> before(const Exercise& exercise,
                                                            const std::string& fingerprint) const {
    try {
      const nlohmann::json& entry = known_.at(exercise.id);
      if (entry.at("fingerprint") == fingerprint) return entry.at("checks").get<std::set<std::string>>();
    } catch (const nlohmann::json::exception&) {  // missing, or from another version
    }
    return std::nullopt;
  }

  std::set<std::string> passed_by_empty_functions(const Exercise& exercise) {
    // No submission's key begins with a dot; without a sandbox the path is part of a shell command.
    const fs::path scratch = settings_.scratch_of(".empty_functions") / exercise.target_name();
    fs::create_directories(scratch);
    sandbox_.let_pass(scratch, settings_.out);
    const SubmittedProgram built = build_submission(
        workspace_, exercise, files_with_empty_functions(workspace_, exercise), sandbox_, settings_.stage(), scratch);
    if (!built.setup.empty()) throw Error(concat("the template of ", exercise.id, ": ", built.setup));
    std::set<std::string> passed;
    if (built.errors.empty()) {  // fails if a function's result has no empty value
      Trying with_sandbox = trying(exercise);
      with_sandbox.sandbox = &sandbox_;
      with_sandbox.use(built);
      passed = judged_checks(built.program, with_sandbox).passed;
    }
    std::error_code ignored;  // the enclosing folder is removed at the end
    fs::remove_all(scratch, ignored);
    return passed;
  }

  const Workspace& workspace_;
  const Settings& settings_;
  const Sandbox& sandbox_;
  fs::path file_;
  nlohmann::json known_;
};

}  // namespace

std::string with_empty_functions(const std::string& template_text) {
  std::istringstream in(template_text);
  std::string text;
  bool returns_nothing = true;
  for (std::string line; std::getline(in, line);) {
    if (begins_definition(line)) returns_nothing = line.substr(0, line.find('(')).find("void ") != std::string::npos;
    if (line.find(kTodo) != std::string::npos) line = returns_nothing ? "  return;" : "  return {};";
    text += line + "\n";
  }
  return text == template_text + "\n" ? template_text : text;
}

std::map<std::string, std::set<std::string>> find_given_checks(const Workspace& workspace,
                                                               const std::vector<Exercise>& exercises,
                                                               const Settings& settings, const Sandbox& sandbox) {
  GivenChecks found(workspace, settings, sandbox);
  std::map<std::string, std::set<std::string>> given;
  for (const Exercise& exercise : exercises)
    if (std::set<std::string> names = found.of(exercise); !names.empty()) given[exercise.id] = std::move(names);
  found.save();
  return given;
}

}  // namespace lockstep::grading
