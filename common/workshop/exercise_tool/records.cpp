#include "exercise_tool/records.hpp"

#include "base/file.hpp"
#include "base/json.hpp"
#include "exercise_tool/verdict_view.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

fs::path path_of(const Workspace& workspace, const Exercise& exercise) {
  return workspace.root / ".lockstep" / "exercises" / (exercise.id + ".json");
}

}  // namespace

Record read_record(const Workspace& workspace, const Exercise& exercise) {
  Record record;
  const fs::path path = path_of(workspace, exercise);
  if (!fs::exists(path)) return record;
  try {
    const nlohmann::json json = parse_json(read_file(path));
    record.hints_seen = json.at("hints_seen");
    record.passed = json.at("passed");
    record.reference = json.at("reference");
    record.last = json.at("last");
  } catch (const nlohmann::json::exception&) {
    return {};  // from another version, or truncated: it can be rebuilt
  }
  return record;
}

void write_record(const Workspace& workspace, const Exercise& exercise, const Record& record) {
  const fs::path path = path_of(workspace, exercise);
  fs::create_directories(path.parent_path());
  const nlohmann::json json = {{"hints_seen", record.hints_seen},
                               {"passed", record.passed},
                               {"reference", record.reference},
                               {"last", record.last}};
  const fs::path unfinished = path.string() + ".new";
  write_file(unfinished, dump_json(json, 1, BadUtf8::kReplace) + "\n");
  fs::rename(unfinished, path);
}

ExerciseState state_of(const Workspace& workspace, const Exercise& exercise) {
  if (!workspace.is_started(exercise)) return ExerciseState::kUntouched;
  const Record record = read_record(workspace, exercise);
  const std::string now = fingerprint(workspace, exercise);
  if (now == record.reference) return ExerciseState::kReference;
  if (now == record.passed) return ExerciseState::kPassed;
  return record.passed.empty() ? ExerciseState::kStarted : ExerciseState::kChanged;
}

Standing standing_of(const Workspace& workspace, const Exercise& exercise, const Record& record) {
  try {
    if (record.last.is_null() || record.last.value("files", "") != fingerprint(workspace, exercise))
      return Standing::kUnknown;
    if (!has_passed(record.last)) return Standing::kFails;
    return record.last.value("full", false) ? Standing::kPasses : Standing::kPassesQuick;
  } catch (const nlohmann::json::exception&) {
    return Standing::kUnknown;  // from another version
  }
}

}  // namespace lockstep::exercise
