#include "exercise_tool/case_records.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTitleColumns = 44;

fs::path path_of(const fs::path& root, const DetectiveCase& detective_case) {
  return root / ".lockstep" / "cases" / (detective_case.id + ".json");
}

}  // namespace

CaseRecord read_case_record(const fs::path& root, const DetectiveCase& detective_case) {
  const fs::path path = path_of(root, detective_case);
  if (!fs::exists(path)) return {};
  try {
    const nlohmann::json json = parse_json(read_file(path));
    return {.wrong_answers = json.at("wrong_answers"), .is_solved = json.at("is_solved")};
  } catch (const nlohmann::json::exception&) {
    return {};  // from another version, or truncated
  }
}

void write_case_record(const fs::path& root, const DetectiveCase& detective_case, const CaseRecord& record) {
  const fs::path path = path_of(root, detective_case), unfinished = path.string() + ".new";
  fs::create_directories(path.parent_path());
  const nlohmann::json json = {{"wrong_answers", record.wrong_answers}, {"is_solved", record.is_solved}};
  write_file(unfinished, dump_json(json) + "\n");
  fs::rename(unfinished, path);
}

std::string state_text(const CaseRecord& record) {
  if (record.is_solved) return "solved";
  if (record.wrong_answers == 0) return "";
  return concat(record.wrong_answers, record.wrong_answers == 1 ? " wrong answer" : " wrong answers");
}

std::string case_list(const fs::path& root, const std::vector<DetectiveCase>& cases, const std::string& chapter) {
  std::string text;
  for (const DetectiveCase& each : cases) {
    if (!chapter.empty() && each.chapter != chapter) continue;
    const std::string state = state_text(read_case_record(root, each));
    std::string line = concat("  ", each.id, "  ", each.title);
    if (!state.empty()) line += std::string(line.size() < kTitleColumns ? kTitleColumns - line.size() : 2, ' ') + state;
    text += line + "\n";
  }
  return text;
}

}  // namespace lockstep::exercise
