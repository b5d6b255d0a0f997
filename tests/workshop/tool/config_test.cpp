// lockstep config, and how lockstep launch uses its file.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/unique_fd.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;
using test::built_program;
using test::Finished;
using test::TemporaryFolder;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

Finished run_tool(std::vector<std::string> arguments, Variables variables = {}) {
  arguments.insert(arguments.begin(), built_program("lockstep"));
  variables.emplace_back("LOCKSTEP_ROOT", LOCKSTEP_SOURCE_DIR);
  return test::run_program(arguments, variables);
}

// A terminal; the test holds its other end.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (!master_.is_open() || grantpt(master_.get()) != 0 || unlockpt(master_.get()) != 0)
      throw IoError("making a terminal", errno);
    slave_.reset(open(ptsname(master_.get()), O_RDWR | O_NOCTTY));
  }
  [[nodiscard]] std::string path() const { return ptsname(master_.get()); }
  void type(const std::string& text) const { write_all(master_.get(), text, path()); }

 private:
  UniqueFd master_, slave_;
};

// Answers all questions of `lockstep config --config file`.
Finished answer(const fs::path& file, const std::string& answers) {
  const Terminal terminal;
  terminal.type(answers);
  const std::string line = built_program("lockstep") + " config --config '" + file.string() + "' < " + terminal.path();
  return test::run_program({"sh", "-c", "exec " + line}, {{"LOCKSTEP_ROOT", LOCKSTEP_SOURCE_DIR}});
}

Finished launch_with(const std::string& json, const std::vector<std::string>& options,
                     const std::vector<std::string>& program, const Variables& variables = {}) {
  const TemporaryFolder folder;
  write_file(folder / "job.json", json);
  std::vector<std::string> words = {"launch", "--config", (folder / "job.json").string()};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), program.begin(), program.end());
  return run_tool(words, variables);
}

const std::vector<std::string> kShowSettings = {
    "sh", "-c", "echo $RANK of $WORLD_SIZE $LOCKSTEP_DEVICE $LOCKSTEP_MIXED_PRECISION $OMP_NUM_THREADS"};

}  // namespace

TEST_CASE("config asks, asks again after a wrong answer, and writes what was said", "[tool][config]") {
  const TemporaryFolder folder;
  const fs::path file = folder / "new" / "job.json";
  const Finished finished = answer(file, "two\n 3 \nccpu\n\nbf61\nbf16\n0\n2\n");
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("'two' is not a whole number from 1 to 1024, or auto"));
  CHECK_THAT(finished.out, ContainsSubstring("there is no 'ccpu'; did you mean cpu? (cpu, emulated, cuda)"));
  CHECK_THAT(finished.out, ContainsSubstring("did you mean bf16?"));
  CHECK_THAT(finished.out, ContainsSubstring("'0' is not a whole number"));
  CHECK_THAT(finished.out,
             ContainsSubstring("num_processes 3, device cpu, mixed_precision bf16, threads_per_process 2"));
  const std::string text = read_file(file);
  CHECK(text ==
        "{\n  \"num_processes\": 3,\n  \"device\": \"cpu\",\n  \"mixed_precision\": \"bf16\",\n"
        "  \"threads_per_process\": 2\n}\n");
  // The next dialog suggests these values.
  REQUIRE(answer(file, "\n\n\nauto\n").exit_code == 0);
  CHECK_THAT(read_file(file), ContainsSubstring("\"num_processes\": 3") && ContainsSubstring("\"bf16\"") &&
                                  ContainsSubstring("\"threads_per_process\": \"auto\""));
}

TEST_CASE("config writes nothing if the answers end, or nobody can answer", "[tool][config]") {
  const TemporaryFolder folder;
  const Finished ended = answer(folder / "job.json", "2\n\x04");
  CHECK(ended.exit_code == 1);
  CHECK_THAT(ended.err, ContainsSubstring("the input ended before device was answered; nothing was written"));
  CHECK_FALSE(fs::exists(folder / "job.json"));
  const Finished piped = run_tool({"config", "--config", (folder / "job.json").string()});
  CHECK(piped.exit_code == 2);
  CHECK_THAT(piped.err, ContainsSubstring("no terminal") && ContainsSubstring("--default"));
  CHECK_FALSE(fs::exists(folder / "job.json"));
}

TEST_CASE("config --default writes what suits the machine to the user's place, and replaces nothing",
          "[tool][config]") {
  const TemporaryFolder home;
  for (const bool has_variable : {true, false}) {
    const fs::path place = has_variable ? home / "configured" : home / ".config";
    const Variables variables = {{"XDG_CONFIG_HOME", has_variable ? place.string() : ""},
                                 {"HOME", home.path().string()}};
    const Finished first = run_tool({"config", "--default"}, variables);
    INFO(first.out << first.err);
    REQUIRE(first.exit_code == 0);
    const std::string text = read_file(place / "lockstep" / "config.json");
    CHECK_THAT(text, ContainsSubstring("\"num_processes\": ") && ContainsSubstring("\"mixed_precision\": \"no\""));
    CHECK_THAT(first.out, ContainsSubstring("wrote ~/"));
    const Finished second = run_tool({"config", "--default"}, variables);
    CHECK(second.exit_code == 2);
    CHECK_THAT(second.err, ContainsSubstring("exists, and --default does not replace it"));
    // launch finds it there, and says so.
    std::vector<std::string> words = {"launch", "--num-processes", "1", "--", "true"};
    CHECK_THAT(run_tool(words, variables).err, ContainsSubstring("lockstep: settings of ~/"));
  }
}

TEST_CASE("launch starts what the file says", "[tool][config][multirank]") {
  const std::string json =
      R"({"num_processes": 3, "device": "emulated", "mixed_precision": "bf16", "threads_per_process": 2})";
  const Finished finished = launch_with(json, {}, kShowSettings);
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  for (const char* rank : {"0", "1", "2"})
    CHECK_THAT(finished.out, ContainsSubstring(std::string(rank) + " of 3 emulated bf16 2\n"));
  CHECK_THAT(finished.err, ContainsSubstring("job.json: num_processes 3, device emulated, mixed_precision bf16"));
}

TEST_CASE("options go before the environment, and that before the file", "[tool][config][multirank]") {
  const std::string json = R"({"num_processes": 3, "device": "emulated", "mixed_precision": "bf16"})";
  const Finished finished = launch_with(json, {"--num-processes", "1", "--mixed-precision=fp16"}, kShowSettings,
                                        {{"LOCKSTEP_DEVICE", "cpu"}, {"LOCKSTEP_MIXED_PRECISION", "no"}});
  INFO(finished.err);
  CHECK_THAT(finished.out, ContainsSubstring("0 of 1 cpu fp16"));
  CHECK_THAT(launch_with(R"({"num_processes": "auto"})", {"--nproc", "1"}, {"sh", "-c", "echo of $WORLD_SIZE"}).out,
             ContainsSubstring("of 1\n"));
}

TEST_CASE("a wrong file is refused, with its name and the key", "[tool][config]") {
  struct Case {
    std::string json, message;
  };
  for (const Case& wrong :
       std::vector<Case>{{"{", "job.json is no JSON: "},
                         {"[1]", "job.json is no JSON object"},
                         {R"({"num_proceses": 2})", "unknown key num_proceses; did you mean num_processes?"},
                         {R"({"num_processes": "two"})", "num_processes: 'two' is not a whole number from 1 to 1024"},
                         {R"({"num_processes": 0})", "num_processes: '0' is not a whole number"},
                         {R"({"num_processes": 2.5})", "num_processes is 2.5, which is no whole number"},
                         {R"({"device": 1})", "device is 1, which is no string"},
                         {R"({"device": "gpu"})", "device: there is no 'gpu'"},
                         {R"({"mixed_precision": true})", "mixed_precision is true, which is no string"}}) {
    const Finished finished = launch_with(wrong.json, {}, {"true"});
    INFO(wrong.json << finished.err);
    CHECK(finished.exit_code == 1);
    CHECK_THAT(finished.err, ContainsSubstring("job.json") && ContainsSubstring(wrong.message));
  }
}

TEST_CASE("launch refuses what contradicts itself or cannot be read", "[tool][config]") {
  struct Case {
    std::vector<std::string> words;
    int exit_code;
    std::string message;
  };
  for (const Case& wrong :
       std::vector<Case>{{{"--nproc", "2", "--num-processes", "3"}, 2, "--num-processes 3 both say how many ranks"},
                         {{"--num-processes", "none"}, 2, "--num-processes is none"},
                         {{"--mixed-precision", "bf61"}, 2, "there is no 'bf61'; did you mean bf16?"},
                         {{"--config", "/nowhere/job.json"}, 1, "/nowhere/job.json"},
                         {{"--config", "/tmp"}, 2, "is a folder; name a file"}}) {
    std::vector<std::string> words = {"launch"};
    words.insert(words.end(), wrong.words.begin(), wrong.words.end());
    words.insert(words.end(), {"--", "true"});
    const Finished finished = run_tool(words);
    INFO(finished.err);
    CHECK(finished.exit_code == wrong.exit_code);
    CHECK_THAT(finished.err, ContainsSubstring(wrong.message));
  }
  CHECK(run_tool({"launch", "--nproc", "1", "--num-processes", "1", "--", "true"}).exit_code == 0);
}

TEST_CASE("launch says where a precision would be ignored", "[tool][config][multirank]") {
  // One of our programs without an Accelerator: certainly ignores the option.
  const Finished ours = run_tool({"launch", "--nproc", "1", "--mixed-precision", "bf16", "--", "memory_budget"});
  CHECK(ours.exit_code == 2);
  CHECK_THAT(ours.err, ContainsSubstring("memory_budget has no Accelerator, and would ignore --mixed-precision bf16"));
  CHECK(run_tool({"launch", "--nproc", "1", "--mixed-precision", "no", "--", "memory_budget"}).exit_code == 0);
  // A file serves many programs: prints a line and runs the program.
  const Finished by_file =
      launch_with(R"({"num_processes": 1, "mixed_precision": "bf16", "device": "emulated"})", {}, {"memory_budget"});
  CHECK(by_file.exit_code == 0);
  CHECK_THAT(by_file.err, ContainsSubstring("mixed_precision bf16 has no effect on memory_budget") &&
                              ContainsSubstring("device emulated has no effect on memory_budget"));
  // The program behind a shell is unknown.
  CHECK_THAT(run_tool({"launch", "--nproc", "1", "--mixed-precision", "bf16", "--", "sh", "-c", "true"}).err,
             ContainsSubstring("has no effect unless what sh runs reads LOCKSTEP_MIXED_PRECISION"));
  // A program with an Accelerator.
  const Finished reads = run_tool({"launch", "--nproc", "1", "--mixed-precision", "bf16", "--", "self_test", "--help"});
  CHECK(reads.exit_code == 0);
  CHECK_THAT(reads.err, !ContainsSubstring("has no effect"));
}
