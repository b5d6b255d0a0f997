#include "exercise/detective_case.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

using Texts = std::vector<std::string>;

std::vector<Cause> read_causes(const nlohmann::json& json) {
  std::vector<Cause> causes;
  for (const nlohmann::json& cause : json) causes.push_back({cause.at("name"), cause.at("text")});
  return causes;
}

DetectiveCase read_case(const nlohmann::json& json, const std::string& chapter) {
  DetectiveCase each;
  each.id = json.at("id");
  each.chapter = chapter;
  each.title = json.at("title");
  each.difficulty = json.at("difficulty");
  each.story = json.at("story").get<Texts>();
  each.file = json.at("file");
  each.programs = json.at("programs").get<Texts>();
  each.commands = json.at("commands").get<Texts>();
  each.losses = json.value("losses", Texts{});
  each.evidence = json.at("evidence").get<Texts>();
  const bool is_of_chapter = each.id.size() == 4 && each.id.substr(0, 3) == chapter.substr(0, 2) + ".";
  if (!is_of_chapter) throw FormatError(concat("the id \"", each.id, "\" is not one of chapter ", chapter));
  if (each.evidence.empty()) throw FormatError(concat(each.id, " has no evidence to show after a wrong answer"));
  return each;
}

void read_chapter(const fs::path& file, const std::string& chapter, std::vector<DetectiveCase>& cases) {
  try {
    const nlohmann::json json = parse_json(read_file(file));
    const std::vector<Cause> causes = read_causes(json.at("causes"));
    for (const nlohmann::json& entry : json.at("cases")) {
      cases.push_back(read_case(entry, chapter));
      cases.back().causes = causes;
    }
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(concat(file.string(), ": ", error.what()));
  } catch (const FormatError& error) {
    throw FormatError(concat(file.string(), ": ", error.what()));
  }
}

// "06.A" for "6.a" and "06a".
std::string id_in(std::string word) {
  std::erase(word, '.');
  if (word.size() == 2) word.insert(0, "0");
  if (word.size() != 3) return "";
  return concat(word.substr(0, 2), ".", static_cast<char>(std::toupper(static_cast<unsigned char>(word[2]))));
}

// The number of the only line that contains `text`.
std::size_t line_with(const std::string& text, const std::string& file) {
  std::istringstream in(file);
  std::size_t number = 0, found = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find(text) == std::string::npos) continue;
    if (found != 0) throw FormatError(concat("\"", text, "\" is on several lines"));
    found = number;
  }
  if (found == 0) throw FormatError(concat("\"", text, "\" is on no line"));
  return found;
}

void read_head(Spoiler& spoiler, const std::string& right_program) {
  std::istringstream in(spoiler.patch.head);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("Cause: ")) {
      spoiler.cause = line.substr(7);
    } else if (line.starts_with("Line: ")) {
      spoiler.lines.push_back(line_with(line.substr(6), right_program));
    } else if (!spoiler.explanation.empty() || !line.empty()) {
      spoiler.explanation += line + "\n";
    }
  }
  while (spoiler.explanation.ends_with("\n\n")) spoiler.explanation.pop_back();
}

}  // namespace

std::string DetectiveCase::program_name() const {
  return concat("case_", id.substr(0, 2), "_", static_cast<char>(std::tolower(static_cast<unsigned char>(id.back()))));
}

std::string DetectiveCase::extension() const { return fs::path(file).extension().string(); }

std::vector<DetectiveCase> read_cases(const fs::path& root) {
  std::vector<DetectiveCase> cases;
  std::error_code none;  // no exercises: no cases
  for (const fs::directory_entry& chapter : fs::directory_iterator(root / "exercises", none)) {
    const fs::path file = chapter.path() / "cases" / "cases.json";
    if (fs::exists(file)) read_chapter(file, chapter.path().filename(), cases);
  }
  std::ranges::sort(cases, {}, &DetectiveCase::id);
  return cases;
}

const DetectiveCase& find_case(const std::vector<DetectiveCase>& cases, const std::string& word) {
  const auto found = std::ranges::find(cases, id_in(word), &DetectiveCase::id);
  if (found != cases.end()) return *found;
  throw UsageError(concat("there is no case ", word, "  (./lockstep case lists them all)"));
}

Spoiler read_spoiler(const fs::path& root, const DetectiveCase& detective_case) {
  const fs::path folder = root / "exercises" / detective_case.chapter / "cases" / "spoilers";
  try {
    Spoiler spoiler;
    spoiler.patch = parse_patch(read_file(folder / (detective_case.id + ".patch")));
    if (spoiler.patch.file != detective_case.file)
      throw FormatError(concat("it changes ", spoiler.patch.file, ", not ", detective_case.file));
    read_head(spoiler, read_file(root / detective_case.file));
    if (spoiler.cause.empty() || spoiler.lines.empty() || spoiler.explanation.empty())
      throw FormatError("its head lacks the cause, the line or the explanation");
    return spoiler;
  } catch (const FormatError& error) {
    throw FormatError(concat("the patch of case ", detective_case.id, ": ", error.what()));
  }
}

std::string source_of(const fs::path& root, const DetectiveCase& detective_case) {
  const Spoiler spoiler = read_spoiler(root, detective_case);
  for (const Hunk& hunk : spoiler.patch.hunks)
    if (hunk.before.size() != hunk.after.size())
      throw FormatError(concat("the patch of case ", detective_case.id, " moves lines; put an empty one there"));
  try {
    return apply_patch(spoiler.patch, read_file(root / detective_case.file));
  } catch (const FormatError& error) {
    throw FormatError(concat("the patch of case ", detective_case.id, ": ", error.what()));
  }
}

CaseVerdict judge_answer(const Spoiler& spoiler, const CaseAnswer& answer) {
  if (answer.cause != spoiler.cause) return CaseVerdict::kOtherCause;
  const bool is_near = std::ranges::any_of(spoiler.lines, [&](std::size_t line) {
    return answer.line + kLineTolerance >= line && answer.line <= line + kLineTolerance;
  });
  return is_near ? CaseVerdict::kSolved : CaseVerdict::kOtherLine;
}

}  // namespace lockstep::exercise
