#include "grading/selftest.hpp"

#include <set>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "exercise_tool/build_work.hpp"
#include "exercise_tool/shell.hpp"
#include "grading/given_checks.hpp"
#include "grading/judging.hpp"
#include "grading/manifest.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;
using exercise::Workspace;

Files files_in(const Workspace& workspace, const Exercise& exercise, const char* place) {
  Files files;
  for (const std::string& file : exercise.files)
    files[path_in_submission(exercise, file)] = read_file(exercise.in(workspace.root / place) / file);
  return files;
}

nlohmann::json bank_of(const Workspace& workspace, const Exercise& exercise) {
  const FinishedProcess listed = exercise::run({judge_of(workspace, exercise).string(), exercise.id, "--list", "--bank",
                                                program_of(workspace, exercise, "bank").string()},
                                               workspace.root, Collect::kOutput);
  return parse_json(listed.output);
}

Files with_empty_functions(Files files) {
  for (auto& [name, text] : files) text = grading::with_empty_functions(text) + "\n";
  return files;
}

// The template's text would be recognized as untouched; an added blank line makes it count as a submission.
Files touched(Files files) {
  for (auto& [name, text] : files) text += "\n";
  return files;
}

class SelfTest {
 public:
  SelfTest(const Workspace& workspace, const Settings& settings, const Sandbox& sandbox)
      : workspace_(workspace), settings_(settings), sandbox_(sandbox) {}

  void try_exercise(const Exercise& exercise) {
    const ExerciseGrade solution = grade(exercise, files_in(workspace_, exercise, "solutions"));
    if (solution.points != solution.max_points || solution.verdict != "passed")
      complain(exercise, concat("the solution gets ", solution.points, " of ", solution.max_points, ": ",
                                solution.verdict, " ", solution.setup, solution.compiler));
    const ExerciseGrade given = grade(exercise, touched(files_in(workspace_, exercise, "exercises")));
    if (given.points != 0) complain(exercise, concat("the template gets ", given.points, " of ", given.max_points));
    const ExerciseGrade empty = grade(exercise, with_empty_functions(files_in(workspace_, exercise, "exercises")));
    if (empty.points != 0)
      complain(exercise, concat("an empty function gets ", empty.points, " of ", empty.max_points));
    for (const nlohmann::json& mistake : bank_of(workspace_, exercise)) try_mistake(exercise, mistake.at("name"));
  }

  [[nodiscard]] int mistakes() const { return mistakes_; }
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  ExerciseGrade grade(const Exercise& exercise, const Files& files) {
    const fs::path scratch = settings_.out / ".scratch" / concat("selftest_", exercise.target_name());
    fs::remove_all(scratch);
    fs::create_directories(scratch);
    ExerciseGrade result = grade_exercise(workspace_, exercise, files, settings_, sandbox_, scratch);
    std::error_code ignored;
    fs::remove_all(scratch, ignored);
    return result;
  }

  void try_mistake(const Exercise& exercise, const std::string& name) {
    ++mistakes_;
    const JudgeReport judged = judge_program(program_of(workspace_, exercise, "bank"), {.workspace = workspace_,
                                                                                        .exercise = exercise,
                                                                                        .patience = settings_.patience,
                                                                                        .mistake = name,
                                                                                        .is_named = true});
    if (!judged.setup.empty()) return complain(exercise, concat(name, ": ", judged.setup));
    const auto given = settings_.given.find(exercise.id);
    const ExerciseGrade result = grade_from(exercise, judged.report, nullptr,
                                            given == settings_.given.end() ? std::set<std::string>() : given->second);
    if (result.points >= result.max_points) complain(exercise, name + " gets all points");
    if (result.likely != std::vector{name}) complain(exercise, concat(name, " is not named alone"));
  }

  void complain(const Exercise& exercise, const std::string& what) { complaints_.push_back(exercise.id + ": " + what); }

  const Workspace& workspace_;
  const Settings& settings_;
  const Sandbox& sandbox_;
  std::vector<std::string> complaints_;
  int mistakes_ = 0;
};

}  // namespace

std::vector<std::string> selftest(const Workspace& workspace, const std::vector<Exercise>& exercises,
                                  const Settings& settings, const Sandbox& sandbox,
                                  const std::function<void(const std::string&)>& report) {
  SelfTest test(workspace, settings, sandbox);
  for (const Exercise& exercise : exercises) {
    const int before = test.mistakes();
    const std::size_t complaints = test.complaints().size();
    test.try_exercise(exercise);
    report(concat(exercise.id, " ", exercise.title, ": solution, template, ", test.mistakes() - before,
                  " mistakes: ", test.complaints().size() == complaints ? "as they must be" : "NOT as they must be"));
  }
  return test.complaints();
}

}  // namespace lockstep::grading
