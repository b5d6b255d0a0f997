#include "grading/judging.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "exercise_tool/build_work.hpp"
#include "grading/manifest.hpp"
#include "grading/process_tree.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;
using exercise::Workspace;

constexpr std::uint64_t kPublicSeed = 1;  // the seed of `./lockstep check`
constexpr Limits kRunning{};
// An emulated GPU reserves 64 GiB of addresses, in files in memory. Actual use is watched (Allowance), and the sandbox
// limits writes to disk.
constexpr Limits kEmulating{.memory_bytes = std::uint64_t{1} << 46, .file_bytes = std::uint64_t{1} << 46};
// A program that uses up its limits in every check gets no new check after this time, so that the judge finishes in
// time unless the machine itself has a fault.
constexpr const char* kLastCheckBegins = "420";  // seconds
constexpr Allowance kForJudging{.wall_time = std::chrono::seconds(900)};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<std::string> variables_for_judge() {
  std::vector<std::string> variables = {"LC_ALL=C"};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"})
    if (const auto value = environment::get(name)) variables.push_back(concat(name, "=", *value));
  return variables;
}

bool has_all_passed(const nlohmann::json& report) {
  return std::ranges::all_of(report.at("checks"),
                             [](const nlohmann::json& check) { return check.at("verdict") == "passed"; });
}

std::size_t passed_in(const nlohmann::json& report) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.at("checks"), [](const nlohmann::json& check) { return check.at("verdict") == "passed"; }));
}

// True for failures that depend on the machine's load: time used up, or a process killed by the system. A program that
// passes no check at all does not fail for lack of time.
bool may_be_the_machines_fault(const JudgeReport& judged) {
  const auto is_suspicious = [&](const nlohmann::json& check) {
    return check.at("verdict") == "SLOW" || (check.value("killed", false) && !judged.used_too_much_memory);
  };
  return passed_in(judged.report) > 0 && std::ranges::any_of(judged.report.at("checks"), is_suspicious);
}

// Judges once, and again with more time if the machine may be at fault. The better result counts.
JudgeReport judge_fairly(const fs::path& program, const Trying& trying, ExerciseGrade& grade) {
  JudgeReport first = judge_program(program, trying);
  if (!first.setup.empty() || !may_be_the_machines_fault(first)) return first;
  Trying patient = trying;
  patient.patience *= 3;
  JudgeReport second = judge_program(program, patient);
  if (!second.setup.empty() || passed_in(second.report) == passed_in(first.report)) return first;
  grade.is_flaky = true;
  return passed_in(second.report) > passed_in(first.report) ? second : first;
}

// The exercise's files from the submission. Empty if one is missing.
Files files_of(const Exercise& exercise, const Files& submission) {
  Files files;
  for (const std::string& file : exercise.files) {
    const auto found = submission.find(path_in_submission(exercise, file));
    if (found == submission.end()) return {};
    files.insert(*found);
  }
  return files;
}

bool is_template(const Workspace& workspace, const Exercise& exercise, const Files& files) {
  return std::ranges::all_of(exercise.files, [&](const std::string& file) {
    return files.at(path_in_submission(exercise, file)) == read_file(exercise.in(workspace.root / "exercises") / file);
  });
}

// True for verdicts that a check of a built program can have. A judge must not claim that grading itself failed: then
// it exits with an error, and this process reports it.
bool is_verdict_of_check(const std::string& verdict) {
  constexpr std::array<std::string_view, 10> kVerdicts = {"passed", "TODO", "CRASH", "WRONG", "HANG",
                                                          "LOOP",   "SLOW", "RACE",  "LEAK",  "SKIPPED"};
  return std::ranges::find(kVerdicts, verdict) != kVerdicts.end();
}

CheckGrade check_from_report(const Exercise& exercise, const nlohmann::json& check,
                             const std::set<std::string>& given) {
  CheckGrade grade{.name = check.at("name"), .verdict = check.at("verdict"), .points = check.at("points")};
  if (!is_verdict_of_check(grade.verdict)) grade.verdict = "CRASH";
  grade.is_given = given.contains(grade.name);
  if (const auto weight = exercise.weights.find(grade.name); weight != exercise.weights.end())
    grade.points = weight->second;
  if (grade.has_passed()) return grade;
  grade.summary = check.at("summary");
  grade.evidence = check.at("evidence").get<std::vector<std::string>>();
  grade.next = check.at("next");
  return grade;
}

// The check of that name in the report for the public inputs; null: none.
const nlohmann::json* check_in(const nlohmann::json& report, const nlohmann::json& name) {
  if (report.is_null()) return nullptr;
  for (const nlohmann::json& check : report.at("checks"))
    if (check.at("name") == name) return &check;
  return nullptr;
}

}  // namespace

void Trying::use(const SubmittedProgram& built) {
  mounts = {{built.program, built.program}};
  for (const fs::path& library : built.libraries) mounts.push_back({library, library});
  sources = built.sources;
}

JudgeReport judge_program(const fs::path& program, const Trying& trying) {
  const auto& [workspace, exercise, seed, patience, sandbox, mounts, sources, mistake, is_named] = trying;
  std::vector<std::string> command = {judge_of(workspace, exercise).string(),
                                      exercise.id,
                                      "--full",
                                      "--secret-seed",
                                      "--give-up-after",
                                      "3",
                                      "--begin-none-after",
                                      kLastCheckBegins,
                                      "--patience",
                                      std::to_string(patience),
                                      "--subject",
                                      program.string(),
                                      "--source-folder",
                                      workspace.shown(workspace.work(exercise))};
  for (const fs::path& source : sources) command.insert(command.end(), {"--source", source.string()});
  if (!mistake.empty()) command.insert(command.end(), {"--mistake", mistake});
  if (is_named) command.insert(command.end(), {"--bank", program_of(workspace, exercise, "bank").string()});
  if (sandbox != nullptr) {
    const bool is_emulated = exercise.has_kernels() || exercise.needs_emulator;
    if (is_emulated && !sandbox->has_own_files())
      return {nullptr, "on an emulated GPU an exercise can be graded with bubblewrap only; it does not work here"};
    const SandboxPlan plan{
        .mounts = mounts, .limits = is_emulated ? kEmulating : kRunning, .has_loopback = exercise.needs_emulator};
    if (plan.has_loopback) {
      const std::vector<std::string> network = Sandbox::own_network();
      command.insert(command.begin(), network.begin(), network.end());
    }
    command.insert(command.end(), {"--sandbox", dump_json(nlohmann::json(sandbox->prefix(plan)))});
  }
  const Ended ended =
      run_watched(command, variables_for_judge(), workspace.root, kForJudging, std::to_string(seed) + "\n");
  if (sandbox != nullptr) sandbox->end_processes_of_user();
  if (ended.is_out_of_time) return {nullptr, "the judge was not done after a quarter of an hour"};
  try {
    if (ended.exit_code == 0) return {parse_json(ended.output), "", ended.is_out_of_memory};
  } catch (const nlohmann::json::exception&) {  // reported below
  }
  return {nullptr, concat("the judge failed (exit status ", ended.exit_code, "): ", ended.errors)};
}

ExerciseGrade grade_from(const Exercise& exercise, const nlohmann::json& own, const nlohmann::json& secret,
                         const std::set<std::string>& given) {
  ExerciseGrade grade{.id = exercise.id, .title = exercise.title, .max_points = exercise.points, .verdict = "passed"};
  const nlohmann::json& deciding = secret.is_null() ? own : secret;
  for (const nlohmann::json& check : deciding.at("checks")) {
    const nlohmann::json* const visible = check_in(own, check.at("name"));
    CheckGrade one = check_from_report(exercise, check, given);
    if (!one.has_passed() && !secret.is_null()) {
      const bool is_seen = visible != nullptr && visible->at("verdict") != "passed";
      one = is_seen ? check_from_report(exercise, *visible, given)
                    : CheckGrade{.name = one.name,
                                 .verdict = one.verdict,
                                 .points = one.points,
                                 .is_hidden = true,
                                 .is_given = one.is_given};
    }
    if (!one.has_passed() && grade.verdict == "passed") grade.verdict = one.verdict;
    grade.checks.push_back(std::move(one));
  }
  grade.points = points_for(grade.checks, exercise.points);
  if (own.is_null()) return grade;
  for (const nlohmann::json& mistake : own.at("likely")) {
    grade.likely.push_back(mistake.at("name"));
    grade.likely_text.push_back(mistake.at("description"));
  }
  return grade;
}

namespace {

ExerciseGrade grade_program(const Workspace& workspace, const Exercise& exercise, const SubmittedProgram& built,
                            const Settings& settings, const Sandbox& sandbox) {
  ExerciseGrade noted;
  nlohmann::json own, secret;
  Trying trying{.workspace = workspace, .exercise = exercise, .patience = settings.patience, .sandbox = &sandbox};
  trying.use(built);
  const auto seed = settings.seeds.find(exercise.id);
  const auto fail = [&](const std::string& why) {
    return ExerciseGrade{
        .id = exercise.id, .title = exercise.title, .max_points = exercise.points, .verdict = "SETUP", .setup = why};
  };
  if (seed != settings.seeds.end()) {
    trying.seed = seed->second;
    const JudgeReport judged = judge_fairly(built.program, trying, noted);
    if (!judged.setup.empty()) return fail(judged.setup);
    secret = judged.report;
  }
  if (secret.is_null() || !has_all_passed(secret)) {
    trying.seed = kPublicSeed;
    trying.is_named = true;
    const JudgeReport judged = judge_fairly(built.program, trying, noted);
    if (!judged.setup.empty()) return fail(judged.setup);
    own = judged.report;
  }
  const auto given = settings.given.find(exercise.id);
  ExerciseGrade grade =
      grade_from(exercise, own, secret, given == settings.given.end() ? std::set<std::string>() : given->second);
  grade.is_flaky = noted.is_flaky;
  return grade;
}

}  // namespace

ExerciseGrade grade_exercise(const Workspace& workspace, const Exercise& exercise, const Files& submission,
                             const Settings& settings, const Sandbox& sandbox, const fs::path& scratch) {
  const auto begin = std::chrono::steady_clock::now();
  ExerciseGrade grade{.id = exercise.id, .title = exercise.title, .max_points = exercise.points};
  const Files files = files_of(exercise, submission);
  try {
    if (files.empty()) return grade;
    if (is_template(workspace, exercise, files)) {
      grade.verdict = "TODO";
      return grade;
    }
    sandbox.let_pass(scratch, settings.out);
    const SubmittedProgram built = build_submission(workspace, exercise, files, sandbox, settings.stage(), scratch);
    if (!built.setup.empty()) {
      grade.verdict = "SETUP";
      grade.setup = built.setup;
    } else if (!built.errors.empty()) {
      grade.verdict = "BUILD";
      grade.compiler = built.errors;
    } else {
      grade = grade_program(workspace, exercise, built, settings, sandbox);
    }
  } catch (const std::exception& error) {
    grade.verdict = "SETUP";
    grade.setup = error.what();
  }
  grade.seconds = seconds_since(begin);
  return grade;
}

}  // namespace lockstep::grading
