// What must hold of every exercise, so that a verdict means something: CONTRIBUTING.md lists it.
#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "exercise/catalogue.hpp"
#include "exercise/template.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = LOCKSTEP_PROJECT_ROOT;

std::string program_of(const Exercise& exercise, const std::string& variant) {
  return (fs::path(LOCKSTEP_EXERCISE_PROGRAMS) / concat("exercise_", exercise.target_name(), "_", variant)).string();
}

nlohmann::json judge(const Exercise& exercise, std::vector<std::string> arguments) {
  const std::string program =
      (fs::path(LOCKSTEP_EXERCISE_PROGRAMS) / concat("judge_", exercise.id.substr(0, 2))).string();
  arguments.insert(arguments.begin(), {program, exercise.id});
  const test::Finished finished = test::run_program(arguments);
  if (finished.exit_code != 0) throw Error(concat("the judge of ", exercise.id, " failed: ", finished.err));
  return parse_json(finished.out);
}

// "WRONG: 3 ranks: ...", one per check that failed.
std::string failures_in(const nlohmann::json& report) {
  std::string text;
  for (const nlohmann::json& check : report.at("checks"))
    if (check.at("verdict") != "passed")
      text += concat(check["verdict"].get<std::string>(), ": ", check["name"].get<std::string>(), ": ",
                     check["summary"].get<std::string>(), "\n");
  return text;
}

// The exercises whose programs this build has. Kernels are judged by the emulator's checker, which builds for GPUs and
// builds with sanitizers lack.
std::vector<Exercise> built_exercises() {
  std::vector<Exercise> catalogue = read_catalogue(kRoot);
#if !defined(LOCKSTEP_EMULATOR_HAS_CHECKER)
  std::erase_if(catalogue, [](const Exercise& exercise) { return exercise.has_kernels(); });
#endif
  return catalogue;
}

// What is wrong with each exercise, by `examine`; empty text for nothing. Most of the time of a trial is waiting, so
// several exercises are tried at once.
std::string faults_of_all(const std::function<std::string(const Exercise&)>& examine) {
  const std::vector<Exercise> catalogue = built_exercises();
  std::vector<std::string> faults(catalogue.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < catalogue.size(); i = next++) {
      try {
        faults[i] = examine(catalogue[i]);
      } catch (const std::exception& error) {
        faults[i] = concat(error.what(), "\n");
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) workers.emplace_back(work);
  }
  std::string all;
  for (std::size_t i = 0; i < faults.size(); ++i)
    if (!faults[i].empty()) all += concat(catalogue[i].id, ": ", faults[i]);
  return all;
}

}  // namespace

TEST_CASE("every template is what its solution makes, and nothing else lies beside it", "[exercises]") {
  for (const Exercise& exercise : read_catalogue(kRoot)) {
    INFO(exercise.id);
    std::set<std::string> expected = {"TASK.md", "exercise.json", "hints.md"};
    for (const std::string& file : exercise.files) {
      CHECK(read_file(exercise.in(kRoot / "exercises") / file) ==
            make_template(read_file(exercise.in(kRoot / "solutions") / file), exercise));
      expected.insert(file);
      expected.insert(fs::path(file).replace_extension(".hpp"));
    }
    for (const auto& entry : fs::directory_iterator(exercise.in(kRoot / "exercises")))
      CHECK(expected.contains(entry.path().filename()));
    CHECK(read_hints(kRoot, exercise).size() == 3);
  }
}

TEST_CASE("every template fails as it is meant to and in no other way", "[exercises]") {
  CHECK(faults_of_all([](const Exercise& exercise) -> std::string {
          const auto report = judge(exercise, {"--subject", program_of(exercise, "template")});
          const std::string verdict = report.at("checks").back().at("verdict");
          if (verdict != exercise.template_verdict) return failures_in(report);
          const bool names_itself = verdict != "TODO" || failures_in(report).find(exercise.id) != std::string::npos;
          return names_itself ? "" : concat("a task of another exercise: ", failures_in(report));
        }) == "");
}

TEST_CASE("every solution passes all checks, whatever the seed", "[exercises]") {
  CHECK(faults_of_all([](const Exercise& exercise) -> std::string {
          std::string faults;
          for (const char* seed : {"1", "77"}) {
            const auto report =
                judge(exercise, {"--subject", program_of(exercise, "solution"), "--full", "--seed", seed});
            faults += failures_in(report);
            if (report.at("checks").size() < 4) faults += "fewer than 4 checks\n";
          }
          return faults;
        }) == "");
}

TEST_CASE("every mistake of the bank fails, and is named", "[exercises]") {
  CHECK(faults_of_all([](const Exercise& exercise) -> std::string {
          const std::string bank = program_of(exercise, "bank");
          const nlohmann::json mistakes = judge(exercise, {"--bank", bank, "--list"});
          std::string faults = mistakes.size() < 4 ? "fewer than 4 mistakes\n" : "";
          for (const nlohmann::json& mistake : mistakes) {
            const std::string name = mistake.at("name");
            const auto report = judge(exercise, {"--subject", bank, "--bank", bank, "--mistake", name, "--full"});
            const nlohmann::json& likely = report.at("likely");
            if (failures_in(report).empty())
              faults += concat(name, " passes\n");
            else if (likely.size() != 1 || likely[0].at("name") != name)
              faults += concat(name, " is taken for ", likely.dump(), "; it failed with\n", failures_in(report));
          }
          return faults;
        }) == "");
}

}  // namespace lockstep::exercise
