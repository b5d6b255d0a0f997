// start, hint, progress, reset, use-reference, and the command that shows the current exercise.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <string_view>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/terminal.hpp"
#include "exercise_tool/build_work.hpp"
#include "exercise_tool/case_records.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/next_step.hpp"
#include "exercise_tool/predict_lesson.hpp"
#include "exercise_tool/records.hpp"
#include "exercise_tool/verdict_view.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

// The exercise that the argument names. @throws UsageError
const Exercise& named(const Workspace& workspace, const Arguments& arguments, const std::string& command) {
  if (arguments.empty())
    throw UsageError(concat("which exercise? For example: ./lockstep ", command, " ",
                            workspace.catalogue.empty() ? "00.1" : workspace.catalogue.front().id));
  return find_exercise(workspace.catalogue, arguments.front());
}

void copy_files(const Workspace& workspace, const Exercise& exercise, const fs::path& from) {
  fs::create_directories(workspace.work(exercise));
  for (const std::string& file : exercise.files)
    fs::copy_file(from / file, workspace.work(exercise) / file, fs::copy_options::overwrite_existing);
}

std::string time_stamp() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char text[32];
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d-%H%M%S", &parts);
  return text;
}

// Moves the learner's files away. @return  Their new place.
fs::path back_up(const Workspace& workspace, const Exercise& exercise) {
  const fs::path folder = workspace.root / ".lockstep" / "backup";
  const std::string name = concat(exercise.work_name(), "-", time_stamp());
  fs::path backup = folder / name;
  for (int number = 2; fs::exists(backup); ++number) backup = folder / concat(name, "-", number);  // the same second
  fs::create_directories(folder);
  fs::rename(workspace.work(exercise), backup);
  return backup;
}

// The files are the template again, so an earlier use-reference no longer counts.
void forget_reference(const Workspace& workspace, const Exercise& exercise) {
  Record record = read_record(workspace, exercise);
  if (!record.has_used_reference()) return;
  record.reference.clear();
  write_record(workspace, exercise, record);
}

void print_task(const Workspace& workspace, const Exercise& exercise) {
  const fs::path given = exercise.in(workspace.root / "exercises");
  std::cout << exercise.id << " " << exercise.title << "  (" << exercise.minutes << " minutes, " << exercise.difficulty
            << ")\n\n";
  std::cout << "  task   " << workspace.shown(given / "TASK.md") << "\n";
  for (const std::string& file : exercise.files)
    std::cout << "  yours  " << workspace.shown(workspace.work(exercise) / file) << "\n";
  std::cout << "\n"
            << wrapped(
                   "next: read the task, edit your file, then ./lockstep check (./lockstep watch checks on every save)",
                   0, prose_columns());
}

const char* word_for(ExerciseState state) {
  switch (state) {
    case ExerciseState::kUntouched:
      return "";
    case ExerciseState::kStarted:
      return "started";
    case ExerciseState::kPassed:
      return "passed";
    case ExerciseState::kChanged:
      return "passed, changed since";
    case ExerciseState::kReference:
      return "ours";
  }
  return "";
}

// "  02.1  Reduce-scatter on a ring     30 min  passed". A title that does not fit is cut.
std::string progress_line(const Exercise& exercise, std::size_t title_columns, const std::string& state) {
  std::string title = exercise.title;
  if (title.size() > title_columns) title = title.substr(0, title_columns - 3) + "...";
  title.resize(title_columns, ' ');
  return concat("  ", exercise.id, exercise.id.size() > 4 ? " " : "  ", title, exercise.minutes < 10 ? "   " : "  ",
                exercise.minutes, " min", state.empty() ? "" : "  ", state, "\n");
}

// Columns for titles: those of the longest, if there is room beside id, minutes and state.
std::size_t title_columns(const Workspace& workspace, std::size_t columns) {
  constexpr std::size_t kLeast = 20;
  std::size_t longest = 0, state = 0;
  for (const Exercise& exercise : workspace.catalogue) {
    longest = std::max(longest, exercise.title.size());
    state = std::max(state, std::string_view(word_for(state_of(workspace, exercise))).size());
  }
  const std::size_t others = std::string_view("  02.1    30 min  ").size() + state;
  return std::min(longest, columns > others + kLeast ? columns - others : kLeast);
}

// "12 of 50 passed", then those of the lecturer, if there are any.
std::string passed_text(const Workspace& workspace) {
  struct Count {
    int passed = 0, all = 0;
  } course, lecturers;
  for (const Exercise& exercise : workspace.catalogue) {
    Count& count = exercise.is_lecturers() ? lecturers : course;
    ++count.all;
    if (state_of(workspace, exercise) == ExerciseState::kPassed) ++count.passed;
  }
  std::string text = concat(course.passed, " of ", course.all, " passed");
  if (lecturers.all > 0) text += concat(", and ", lecturers.passed, " of ", lecturers.all, " of your lecturer's own");
  return text;
}

}  // namespace

int start(const Arguments& arguments) {
  const Workspace workspace = open_workspace();
  const Exercise& exercise = named(workspace, arguments, "start");
  if (workspace.is_started(exercise)) {
    std::cout << "it is started already, and your files stay as they are  (./lockstep reset " << exercise.id
              << " begins anew)\n";
  } else {
    copy_files(workspace, exercise, exercise.in(workspace.root / "exercises"));
    forget_reference(workspace, exercise);
  }
  print_task(workspace, exercise);
  std::cout << std::flush;
  build_given(workspace, exercise);  // so that the first check is quick
  return 0;
}

int hint(const Arguments& arguments) {
  const Workspace workspace = open_workspace();
  const Exercise& exercise = workspace.chosen(arguments);
  const std::vector<std::string> hints = read_hints(workspace.root, exercise);
  Record record = read_record(workspace, exercise);
  const int most = static_cast<int>(hints.size());
  if (record.hints_seen < most) ++record.hints_seen;
  for (int i = 0; i < record.hints_seen; ++i)
    std::cout << "hint " << i + 1 << " of " << most << "\n"
              << wrap_for(STDOUT_FILENO, hints[static_cast<std::size_t>(i)]) << "\n";
  if (record.hints_seen < most)
    std::cout << "next: ./lockstep hint " << exercise.id << "  (one more)\n";
  else if (workspace.has_solution(exercise))
    std::cout << "next: ./lockstep use-reference " << exercise.id << "  (go on with our code)\n";
  else
    std::cout << "next: ./lockstep check " << exercise.id << "\n";
  write_record(workspace, exercise, record);
  return 0;
}

int progress(const Arguments& arguments) {
  if (!arguments.empty()) throw UsageError("progress takes no arguments");
  const Workspace workspace = open_workspace();
  const std::size_t room = title_columns(workspace, prose_columns());
  std::string chapter;
  for (const Exercise& exercise : workspace.catalogue) {
    const ExerciseState state = state_of(workspace, exercise);
    if (exercise.chapter != chapter) std::cout << "\n" << exercise.chapter << "\n";
    chapter = exercise.chapter;
    std::cout << progress_line(exercise, room, word_for(state));
  }
  std::cout << "\ncases for detectives\n" << case_list(workspace.root, read_cases(workspace.root), "");
  const std::string predictions = prediction_list(workspace.root);
  if (!predictions.empty()) std::cout << "\npredictions\n" << predictions;
  std::cout << "\n" << passed_text(workspace) << "\n\n";
  std::cout << next_step_text(workspace, prose_columns());
  return 0;
}

int reset(const Arguments& arguments) {
  const Workspace workspace = open_workspace();
  const Exercise& exercise = named(workspace, arguments, "reset");
  if (!workspace.is_started(exercise)) throw UsageError(concat(exercise.id, " is not started"));
  const fs::path backup = back_up(workspace, exercise);
  copy_files(workspace, exercise, exercise.in(workspace.root / "exercises"));
  write_record(workspace, exercise, {});
  std::cout << "begun anew; your files are in " << workspace.shown(backup) << "\n";
  return 0;
}

int use_reference(const Arguments& arguments) {
  const Workspace workspace = open_workspace();
  const Exercise& exercise = named(workspace, arguments, "use-reference");
  const fs::path solution = exercise.in(workspace.root / "solutions");
  if (!workspace.has_solution(exercise)) throw UnavailableError("this copy of the course has no solutions");
  if (workspace.is_started(exercise))
    std::cout << "your files are in " << workspace.shown(back_up(workspace, exercise)) << "\n";
  copy_files(workspace, exercise, solution);
  Record record = read_record(workspace, exercise);
  record.reference = fingerprint(workspace, exercise);
  write_record(workspace, exercise, record);
  std::cout << exercise.id << " holds our code now, and is marked so, also in what you submit  (./lockstep reset "
            << exercise.id << " begins anew)\n";
  return 0;
}

int where_am_i(const Arguments&) {
  std::cout << next_step_text(open_workspace(), prose_columns());
  return 0;
}

}  // namespace lockstep::exercise
