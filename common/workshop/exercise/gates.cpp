#include "exercise/gates.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "exercise/template.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

// "WRONG: 3 ranks: ...", one line per failed check.
std::string failures_in(const nlohmann::json& report) {
  std::string text;
  for (const nlohmann::json& check : report.at("checks"))
    if (check.at("verdict") != "passed")
      text += concat(check["verdict"].get<std::string>(), ": ", check["name"].get<std::string>(), ": ",
                     check["summary"].get<std::string>(), "\n");
  return text;
}

bool has_check(const nlohmann::json& report, const std::string& name) {
  return std::ranges::any_of(report.at("checks"),
                             [&](const nlohmann::json& check) { return check.at("name") == name; });
}

}  // namespace

std::string Gates::program_of(const Exercise& exercise, const std::string& variant) const {
  return (programs / concat("exercise_", exercise.target_name(), "_", variant)).string();
}

nlohmann::json Gates::judge(const Exercise& exercise, std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {(programs / concat("judge_", exercise.id.substr(0, 2))).string(), exercise.id});
  return parse_json(run(arguments));
}

std::string Gates::faults_of_files(const Exercise& exercise) const {
  std::string faults;
  std::set<std::string> expected = {"TASK.md", "exercise.json", "hints.md"};
  const fs::path folder = exercise.in(root / "exercises");
  for (const std::string& file : exercise.files) {
    const std::string text = make_template(read_file(exercise.in(root / "solutions") / file), exercise);
    if (!fs::exists(folder / file) || read_file(folder / file) != text)
      faults += concat("the template ", file, " is not what the solution makes: ./lockstep author templates\n");
    expected.insert(file);
    expected.insert(fs::path(file).replace_extension(".hpp"));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (!expected.contains(entry.path().filename()))
      faults += concat("nobody needs ", entry.path().filename().string(), "\n");
  if (const std::size_t hints = read_hints(root, exercise).size(); hints != 3)
    faults += concat(hints, " hints instead of 3\n");
  return faults;
}

std::string Gates::faults_of_template(const Exercise& exercise) const {
  const nlohmann::json report = judge(exercise, {"--subject", program_of(exercise, "template")});
  const std::string verdict = report.at("checks").back().at("verdict"), failures = failures_in(report);
  if (verdict != exercise.template_verdict)
    return concat("the template's verdict is ", verdict, " instead of ", exercise.template_verdict, "\n", failures);
  const bool names_itself = verdict != "TODO" || failures.find(exercise.id) != std::string::npos;
  return names_itself ? "" : concat("the template has the task of another exercise: ", failures);
}

std::string Gates::faults_of_solution(const Exercise& exercise) const {
  std::string faults;
  for (const char* seed : {"1", "77"}) {
    const nlohmann::json report =
        judge(exercise, {"--subject", program_of(exercise, "solution"), "--full", "--seed", seed});
    if (const std::string failures = failures_in(report); !failures.empty())
      faults += concat("the solution fails with seed ", seed, ":\n", failures);
    if (report.at("checks").size() < 4) faults += "there are fewer than 4 checks\n";
    for (const auto& [name, weight] : exercise.weights)
      if (!has_check(report, name))
        faults += concat("exercise.json gives a weight to a check that does not exist: ", name, "\n");
  }
  return faults;
}

bool Gates::has_alternatives(const Exercise& exercise) const {
  const fs::path folder = exercise.in(root / "tests" / "exercises");
  return fs::exists(folder / "alternatives.cpp") || fs::exists(folder / "alternatives.cu");
}

std::string Gates::faults_of_alternatives(const Exercise& exercise) const {
  if (!has_alternatives(exercise)) return "there are no unusual right answers: write alternatives.cpp\n";
  const std::string program = program_of(exercise, "alternatives");
  const nlohmann::json alternatives = judge(exercise, {"--bank", program, "--list"});
  std::string faults = alternatives.size() < 2 ? "there are fewer than 2 unusual right answers\n" : "";
  // A different seed for each, so that together they are tried with several.
  int seed = 1;
  for (const nlohmann::json& alternative : alternatives) {
    const std::string name = alternative.at("name");
    const nlohmann::json report =
        judge(exercise, {"--subject", program, "--mistake", name, "--full", "--seed", std::to_string(seed)});
    if (const std::string failures = failures_in(report); !failures.empty())
      faults += concat("the right answer ", name, " (", alternative.at("what").get<std::string>(),
                       ") is refused with seed ", seed, ":\n", failures);
    seed += 76;
  }
  return faults;
}

std::string Gates::faults_of_bank(const Exercise& exercise) const {
  const nlohmann::json mistakes = judge(exercise, {"--bank", program_of(exercise, "bank"), "--compare-bank"});
  std::string faults = mistakes.size() < 4 ? "there are fewer than 4 mistakes\n" : "";
  for (const nlohmann::json& mistake : mistakes) {
    const std::string name = mistake.at("name");
    const nlohmann::json& likely = mistake.at("likely");
    if (failures_in(mistake).empty()) {
      faults += concat("the mistake ", name, " passes\n");
    } else if (likely.size() != 1 || likely[0] != name) {
      faults += concat("the mistake ", name, " is taken for", likely.empty() ? " none" : "");
      for (const nlohmann::json& other : likely) faults += concat(" ", other.get<std::string>());
      faults += concat("; it fails with\n", failures_in(mistake));
    }
  }
  return faults;
}

}  // namespace lockstep::exercise
