// What must hold of every exercise, so that a verdict means something: CONTRIBUTING.md lists it.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

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
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
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

TEST_CASE("every template fails with its own task and nothing else", "[exercises]") {
  for (const Exercise& exercise : read_catalogue(kRoot)) {
    const auto report = judge(exercise, {"--subject", program_of(exercise, "template")});
    INFO(failures_in(report));
    CHECK(report.at("checks").back().at("verdict") == "TODO");
    CHECK(failures_in(report).find(exercise.id) != std::string::npos);
  }
}

TEST_CASE("every solution passes all checks, whatever the seed", "[exercises]") {
  for (const Exercise& exercise : read_catalogue(kRoot)) {
    for (const char* seed : {"1", "77"}) {
      const auto report = judge(exercise, {"--subject", program_of(exercise, "solution"), "--full", "--seed", seed});
      INFO(exercise.id);
      CHECK(failures_in(report).empty());
      CHECK(report.at("checks").size() >= 4);
    }
  }
}

TEST_CASE("every mistake of the bank fails, and is named", "[exercises]") {
  for (const Exercise& exercise : read_catalogue(kRoot)) {
    const std::string bank = program_of(exercise, "bank");
    const nlohmann::json mistakes = judge(exercise, {"--bank", bank, "--list"});
    CHECK(mistakes.size() >= 4);
    for (const nlohmann::json& mistake : mistakes) {
      const std::string name = mistake.at("name");
      const auto report = judge(exercise, {"--subject", bank, "--bank", bank, "--mistake", name, "--full"});
      INFO(exercise.id << " " << name << "\n" << failures_in(report));
      CHECK_FALSE(failures_in(report).empty());
      REQUIRE(report.at("likely").size() == 1);
      CHECK(report["likely"][0].at("name") == name);
    }
  }
}

}  // namespace lockstep::exercise
