#include "exercise_tool/next_step.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "course/doings.hpp"
#include "exercise_tool/case_records.hpp"
#include "exercise_tool/reading.hpp"
#include "exercise_tool/records.hpp"
#include "exercise_tool/verdict_view.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;
using course::Doing;
using course::DoingKind;

bool has_passed(const Workspace& workspace, const std::string& id) {
  const auto exercise = std::ranges::find(workspace.catalogue, id, &Exercise::id);
  if (exercise == workspace.catalogue.end()) return false;
  const ExerciseState state = state_of(workspace, *exercise);
  return state == ExerciseState::kPassed || state == ExerciseState::kReference;
}

bool is_solved(const Workspace& workspace, const std::string& id) {
  const std::vector<DetectiveCase> cases = read_cases(workspace.root);
  const auto found = std::ranges::find(cases, id, &DetectiveCase::id);
  return found != cases.end() && read_case_record(workspace.root, *found).is_solved;
}

bool is_answered(const Workspace& workspace, const std::string& chapter, const std::string& question) {
  const fs::path record = workspace.root / ".lockstep" / "predictions" / (chapter + ".json");
  try {
    return fs::exists(record) && parse_json(read_file(record)).contains(question);
  } catch (const nlohmann::json::exception&) {
    return false;  // truncated
  }
}

// Nothing records if a panel was tried.
bool is_done(const Workspace& workspace, const std::string& chapter, const Doing& doing) {
  switch (doing.kind) {
    case DoingKind::kExercise:
      return has_passed(workspace, doing.name);
    case DoingKind::kCase:
      return is_solved(workspace, doing.name);
    case DoingKind::kPrediction:
      return is_answered(workspace, chapter, doing.name);
    case DoingKind::kPanel:
      return false;
  }
  return false;
}

// "a prediction: ./lockstep predict 02"
std::string invitation(const std::string& chapter, const Doing& doing) {
  switch (doing.kind) {
    case DoingKind::kExercise:
      return "an exercise: ./lockstep start " + doing.name;
    case DoingKind::kCase:
      return "a case: ./lockstep case " + doing.name;
    case DoingKind::kPrediction:
      return "a prediction: ./lockstep predict " + chapter;
    case DoingKind::kPanel:
      return concat("a panel: docs/site/panels/", doing.name, ".html");
  }
  return "";
}

// The doings on the way to `next`: from the last exercise that has passed, or the beginning, to the place that sends
// the reader to `next`, or the end.
std::span<const Doing> on_the_way(const Workspace& workspace, const Exercise& next, std::span<const Doing> doings) {
  std::size_t begin = 0;
  std::vector<std::string> known;  // later mentions of an exercise do not count
  for (std::size_t i = 0; i < doings.size(); ++i) {
    const Doing& doing = doings[i];
    if (doing.kind != DoingKind::kExercise || std::ranges::find(known, doing.name) != known.end()) continue;
    known.push_back(doing.name);
    if (doing.name == next.id) return doings.subspan(begin, i - begin);
    if (has_passed(workspace, doing.name)) begin = i + 1;
  }
  return doings.subspan(begin);
}

std::string way_text(const Workspace& workspace, const Exercise& next) {
  const fs::path lesson = workspace.root / "chapters" / next.chapter / "README.md";
  if (!fs::exists(lesson)) return "";
  const std::string chapter = next.chapter.substr(0, 2);
  const std::vector<Doing> doings =
      course::doings_in(course::parse_markdown(course::read_text_file(lesson, workspace.shown(lesson))));
  std::string text;
  for (const Doing& doing : on_the_way(workspace, next, doings)) {
    if (is_done(workspace, chapter, doing)) continue;
    if (text.empty()) text = concat("\nOn the way there, in ", workspace.shown(lesson), ":\n");
    text += concat("  line ", doing.index + 1, ", ", invitation(chapter, doing), "\n");
  }
  return text;
}

std::string reading_text(const Workspace& workspace, const Exercise& next, std::size_t columns) {
  const Reading reading = reading_of(workspace.root, next);
  std::string text = reading.text.empty() ? "" : "\n" + wrapped("Read first: " + reading.text, 0, columns);
  for (const std::string& place : reading.places) text += concat("  ", place, "\n");
  return text;
}

}  // namespace

std::string next_step_text(const Workspace& workspace, std::size_t columns) {
  const Exercise* const next = workspace.next_open();
  if (next == nullptr) return "All exercises are done.\n";
  const bool is_started = workspace.is_started(*next);
  const std::string sentence = concat(is_started ? "You are at exercise " : "The next exercise is ", next->id, ", ",
                                      next->title, " (", next->difficulty, ", ", next->minutes, " minutes).");
  return concat(wrapped(sentence, 0, columns), reading_text(workspace, *next, columns), way_text(workspace, *next),
                "\nnext: ./lockstep ", is_started ? "check " : "start ", next->id, "\n");
}

}  // namespace lockstep::exercise
