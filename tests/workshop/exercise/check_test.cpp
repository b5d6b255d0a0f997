// lockstep check and reset, in a project whose build and judge are scripts.
#include <chrono>
#include <ctime>
#include <filesystem>

#include "base/environment.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

const std::string kPasses = R"(echo '{"checks": [{"name": "all", "verdict": "passed", "points": 1}], "likely": []}')";

struct ScriptedProject {
  ScriptedProject() {
    for (const char* each : {"exercises/07_x/1_part", "build/cpu/bin", "build/cpu/exercises", "tools"})
      fs::create_directories(folder / each);
    write_file(folder / "CMakePresets.json", "{}");
    write_file(folder / "exercises/07_x/1_part/exercise.json",
               R"({"id": "07.1", "title": "Part", "minutes": 30, "difficulty": "easy", "points": 1, )"
               R"("files": ["a.cpp"]})");
    write_file(folder / "exercises/07_x/1_part/a.cpp", "todo();\n");
    fs::copy_file(test::built_program("lockstep_exercises"), folder / "build/cpu/bin/lockstep_exercises");
    write_script("tools/ninja", R"(case "$*" in *"-t commands"*) echo ": exercise_07_1_template" ;; esac)");
    write_script("build/cpu/exercises/judge_07", kPasses);
  }
  void write_script(const std::string& path, const std::string& command) const {
    write_file(folder / path, "#!/bin/sh\n" + command + "\n");
    fs::permissions(folder / path, fs::perms::owner_all);
  }
  [[nodiscard]] test::Finished run(std::vector<std::string> words) const {
    words.insert(words.begin(), (folder / "build/cpu/bin/lockstep_exercises").string());
    return test::run_program(words,
                             {{"LOCKSTEP_ROOT", folder.path().string()},
                              {"TZ", "UTC0"},
                              {"PATH", (folder / "tools").string() + ":" + environment::get("PATH").value_or("/bin")}});
  }
  test::TemporaryFolder folder;
};

}  // namespace

TEST_CASE("files that are saved while they are judged have not passed", "[exercise]") {
  const ScriptedProject project;
  const fs::path file = project.folder / "work/07.1_part/a.cpp";
  REQUIRE(project.run({"start", "07.1"}).exit_code == 0);
  project.write_script("build/cpu/exercises/judge_07", "echo 'wrong();' >> " + file.string() + "\n" + kPasses);
  const test::Finished checked = project.run({"check", "07.1"});
  INFO(checked.out << checked.err);
  CHECK(checked.exit_code == 0);
  CHECK_THAT(checked.out, ContainsSubstring("your files have changed meanwhile"));
  CHECK(read_file(file) == "todo();\nwrong();\n");
  CHECK_THAT(project.run({"progress"}).out,
             ContainsSubstring("passed, changed since") && ContainsSubstring("0 of 1 passed"));

  project.write_script("build/cpu/exercises/judge_07", kPasses);
  CHECK_THAT(project.run({"check", "07.1", "--full"}).out, ContainsSubstring("every exercise is done"));
  CHECK_THAT(project.run({"progress"}).out, ContainsSubstring("1 of 1 passed"));
}

TEST_CASE("files that are saved while they are compiled are compiled again", "[exercise]") {
  const ScriptedProject project;
  const fs::path file = project.folder / "work/07.1_part/a.cpp";
  REQUIRE(project.run({"start", "07.1"}).exit_code == 0);
  const fs::path compilations = project.folder / "compilations";
  const std::string compiles = ": exercise_07_1_template; echo once >> " + compilations.string() + "; grep -q more " +
                               file.string() + " || echo 'more();' >> " + file.string();
  project.write_script("tools/ninja", R"(case "$*" in *"-t commands"*) echo ")" + compiles + R"(" ;; esac)");
  CHECK(project.run({"check", "07.1"}).exit_code == 0);
  CHECK(read_file(compilations) == "once\nonce\n");
  CHECK_THAT(project.run({"progress"}).out, ContainsSubstring("1 of 1 passed"));
}

TEST_CASE("reset sets files aside although a backup of the same second is there", "[exercise]") {
  const ScriptedProject project;
  REQUIRE(project.run({"start", "07.1"}).exit_code == 0);
  write_file(project.folder / "work/07.1_part/a.cpp", "mine();\n");
  const fs::path backups = project.folder / ".lockstep/backup";
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  for (std::time_t time = now - 2; time < now + 300; ++time) {  // whenever the reset happens
    char name[64];
    std::strftime(name, sizeof name, "07.1_part-%Y-%m-%d-%H%M%S", std::gmtime(&time));
    fs::create_directories(backups / name);
    write_file(backups / name / "a.cpp", "earlier();\n");
  }
  const test::Finished reset = project.run({"reset", "07.1"});
  INFO(reset.out << reset.err);
  CHECK(reset.exit_code == 0);
  CHECK(read_file(project.folder / "work/07.1_part/a.cpp") == "todo();\n");
  const std::string said = "your files are in ";
  const std::size_t begin = reset.out.find(said);
  REQUIRE(begin != std::string::npos);
  const std::string backup = reset.out.substr(begin + said.size(), reset.out.find('\n', begin) - begin - said.size());
  CHECK(backup.ends_with("-2"));
  CHECK(read_file(project.folder / backup / "a.cpp") == "mine();\n");
}
