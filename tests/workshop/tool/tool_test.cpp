#include <signal.h>

#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "base/processes.hpp"
#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using lockstep::test::built_program;
using lockstep::test::Finished;
using lockstep::test::Subprocess;

namespace {

Finished tool(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), built_program("lockstep"));
  return lockstep::test::run_program(arguments, {{"LOCKSTEP_ROOT", LOCKSTEP_SOURCE_DIR}});
}

}  // namespace

TEST_CASE("without arguments the tool says what to do next", "[tool]") {
  const Finished finished = tool({});
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("./lockstep train"));
}

TEST_CASE("help lists every command", "[tool]") {
  const Finished finished = tool({"--help"});
  CHECK(finished.exit_code == 0);
  for (const std::string command : {"train", "run", "launch", "generate", "evaluate", "emulate", "diff", "test",
                                    "bench", "trace", "data", "config", "estimate", "doctor"}) {
    CHECK_THAT(finished.out, ContainsSubstring("\n  " + command));
    if (command == "train" || command == "generate" || command == "evaluate") continue;  // they ask a chapter's program
    CHECK(tool({command, "--help"}).exit_code == 0);
  }
}

TEST_CASE("an installed tool calls itself as it is typed, without ./", "[tool]") {
  const lockstep::test::TemporaryFolder elsewhere;  // not the project's
  const std::filesystem::path text = elsewhere / "text.txt";
  lockstep::write_file(text, "A text of some words, to train on and to validate with.\n");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {},
           {"--help"},
           {"launch", "--help"},
           {"launch", "--nproc", "2"},
           {"config", "--help"},
           {"xyzzy"},
           {"doctor"},
           {"doctor", "--help"},
           {"emulate", "--help"},
           {"run"},
           {"run", "--help"},
           {"test", "--help"},
           {"trace"},
           {"data", "xyzzy"},
           {"data", "tokens", "--tokenizer", "bytes", "--out", (elsewhere / "tokens").string(), text.string()}}) {
    std::vector<std::string> command = words;
    command.insert(command.begin(), built_program("lockstep"));
    const Finished installed = lockstep::test::run_program(command, {{"LOCKSTEP_ROOT", elsewhere.path().string()}});
    INFO(installed.out << installed.err);
    CHECK_THAT(installed.out + installed.err, ContainsSubstring("lockstep") && !ContainsSubstring("./lockstep"));
  }
  CHECK(tool({"--help"}).out.starts_with("Usage: ./lockstep COMMAND "));
  CHECK_THAT(tool({"launch", "--help"}).out, ContainsSubstring("\n  ./lockstep launch [OPTIONS] -- program"));
}

TEST_CASE("a wrong command, option or value is answered with what was meant, and ends with 2", "[tool]") {
  struct Case {
    std::vector<std::string> arguments;
    std::string answer;
  };
  const std::vector<Case> cases = {
      {{"trian"}, "lockstep: unknown command trian; did you mean train?"},
      {{"launch", "--nprco", "2", "--", "true"}, "lockstep launch: unknown option --nprco; did you mean --nproc?"},
      {{"launch", "--nproc", "two", "--", "true"}, "--nproc is two; it must be a number of ranks from 1 to 1024"},
      {{"launch", "--nproc", "0", "--", "true"}, "--nproc is 0"},
      {{"launch", "--nproc", "2"}, "no program to run"},
      {{"launch", "--grace", "soon", "--", "true"}, "--grace"},
      {{"launch", "--nnodes", "two", "--", "true"}, "--nnodes two: must be a number of hosts"},
      {{"launch", "--nnodes", "4:2", "--", "true"}, "--nnodes 4:2: must be"},
      {{"launch", "--nnodes", "2", "--", "true"}, "--nnodes 2 needs --rdzv-endpoint HOST:PORT"},
      {{"launch", "--nnodes", "2", "--standalone", "--", "true"}, "--standalone is a job on one host"},
      {{"launch", "--nnodes", "2", "--rdzv-endpoint", "h:x", "--", "true"}, "--rdzv-endpoint: 'h:x'"},
      {{"launch", "--nnodes", "2", "--node-rank", "2", "--rdzv-endpoint", "h", "--", "true"},
       "--node-rank 2 is out of range: with --nnodes 2 node ranks are 0 to 1"},
      {{"launch", "--nnodes", "2", "--rdzv-endpoint", "h", "--rdzv-conf", "patience=1", "--", "true"},
       "--rdzv-conf: patience=1 is none of join_timeout=SECONDS"},
      {{"launch", "--nnodes", "2", "--rdzv-backend", "etcd", "--", "true"}, "--rdzv-backend"},
      {{"train", "--grace", "soon"}, "--grace soon: must be seconds from 0 to 86400"},
      {{"run", "02", "ring_step"}, "chapter 02 has no program ring_step; did you mean ring_steps?"},
      {{"run", "47"}, "there is no chapter 47"},
      {{"run", "06", "--no-snyc"}, "lockstep train: unknown option --no-snyc; did you mean --no-sync?"},
      {{"run", "06", "--nproc", "2", "--", "--no-snyc"}, "lockstep train: unknown option --no-snyc; did you mean"},
      {{"data", "tinyshakespear"}, "did you mean tinyshakespeare?"},
      {{"bench", "no-such-thing"}, "no benchmark called no-such-thing"},
  };
  for (const Case& wrong : cases) {
    const Finished finished = tool(wrong.arguments);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring(wrong.answer));
  }
}

TEST_CASE("diff shows a chapter's step from the chapter before", "[tool]") {
  const Finished chapter = tool({"diff", "06"});
  CHECK(chapter.exit_code == 0);
  CHECK_THAT(chapter.out, ContainsSubstring("ddp::DistributedDataParallel ddp(model, *group"));
  CHECK(tool({"diff", "06", "train_gpt_ddp"}).out == chapter.out);
  const Finished wrong = tool({"diff", "06", "train_gtp_ddp"});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("did you mean train_gpt_ddp?"));
}

TEST_CASE("diff shows variants of a chapter's own programs by name", "[tool]") {
  const lockstep::test::TemporaryFolder project;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((project / path).parent_path());
    lockstep::write_file(project / path, text);
  };
  write("CMakePresets.json", "{}");
  write("chapters/01_x/programs/base.cpp", "one\n");
  write("chapters/02_x/programs/next.cpp", "// DERIVES FROM chapters/01_x/programs/base.cpp new<=1 changed<=0\none\n");
  write("chapters/02_x/programs/variant.cpp",
        "// DERIVES FROM chapters/02_x/programs/next.cpp new<=1 changed<=1\nother  // CHANGED\n");
  const auto diff = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {built_program("lockstep"), "diff", "02"});
    return lockstep::test::run_program(words, {{"LOCKSTEP_ROOT", project.path().string()}}).out;
  };
  CHECK_THAT(diff({}), ContainsSubstring("./lockstep diff 02 variant shows variant beside next.cpp"));
  CHECK_THAT(diff({"variant"}), ContainsSubstring("other") && !ContainsSubstring("./lockstep diff"));
}

TEST_CASE("launch needs its programs, not the project that they were built from", "[tool][multirank]") {
  const Finished finished = lockstep::test::run_program(
      {built_program("lockstep"), "launch", "--nproc", "1", "--", "echo", "started"}, {{"LOCKSTEP_ROOT", "/nowhere"}});
  INFO(finished.err);
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("started"));
}

TEST_CASE("launch takes torchrun's names, with and without the divider", "[tool][multirank]") {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"launch", "--nproc", "2", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE"},
           {"launch", "--nproc-per-node=2", "sh", "-c", "echo rank $RANK of $WORLD_SIZE"},
           {"launch", "--standalone", "--nproc_per_node", "2", "sh", "-c", "echo rank $RANK of $WORLD_SIZE"}}) {
    const Finished finished = tool(arguments);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.out,
               ContainsSubstring("[rank 0] rank 0 of 2\n") && ContainsSubstring("[rank 1] rank 1 of 2\n"));
  }
}

TEST_CASE("launch passes lines on without prefix when told so", "[tool][multirank]") {
  CHECK(tool({"launch", "--no-prefix", "--nproc", "2", "echo", "1,2"}).out == "1,2\n1,2\n");
}

TEST_CASE("launch ends with the exit code of the rank that failed", "[tool][multirank]") {
  const Finished finished = tool({"launch", "--nproc", "2", "--", "sh", "-c", "exit $((RANK * 5))"});
  CHECK(finished.exit_code == 5);
  CHECK_THAT(finished.err, ContainsSubstring("lockstep: rank 1 exited with code 5"));
}

TEST_CASE("launch --grace is the time from SIGTERM to SIGKILL", "[tool][multirank]") {
  Subprocess job({built_program("lockstep"), "launch", "--nproc", "1", "--grace", "0.2", "--", "sh", "-c",
                  "trap '' TERM; echo ready; while true; do sleep 0.05; done"});
  REQUIRE(job.wait_for_output("[rank 0] ready"));
  job.send_signal(SIGTERM);
  const Finished finished = job.wait(std::chrono::seconds(10));
  CHECK(finished.exit_code == 128 + SIGTERM);
  CHECK_THAT(finished.err, ContainsSubstring("SIGTERM: ending all ranks, which get 0.2 s"));
}

TEST_CASE("two jobs at once have ports, tokens and stores of their own", "[tool][multirank]") {
  const std::vector<std::string> command = {
      built_program("lockstep"),
      "launch",
      "--nproc",
      "1",
      "--",
      "sh",
      "-c",
      "echo $MASTER_PORT; echo $LOCKSTEP_TOKEN; echo $LOCKSTEP_STORE; echo $LOCKSTEP_FLIGHT_DIR; sleep 0.2"};
  Subprocess first(command);
  Subprocess second(command);
  const std::string first_out = first.wait().out;
  const std::string second_out = second.wait().out;
  std::size_t lines = 0;
  for (std::size_t begin = 0, end = 0; (end = first_out.find('\n', begin)) != std::string::npos; begin = end + 1) {
    CHECK_THAT(second_out, !ContainsSubstring(first_out.substr(begin, end + 1 - begin)));
    ++lines;
  }
  CHECK(lines == 4);
}

TEST_CASE("data learns a tokenizer and writes a text as files of tokens to train on", "[tool][data]") {
  const lockstep::test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 500; ++i) text += lockstep::concat("line ", i, " of the text\n");
  const std::string file = (folder / "text.txt").string(), model = (folder / "own.model").string();
  lockstep::write_file(file, text);
  const Finished learned = tool({"data", "tokenizer", file, "--pieces", "300", "--out", model});
  INFO(learned.err);
  REQUIRE(learned.exit_code == 0);
  CHECK_THAT(learned.out, ContainsSubstring("SentencePiece with 300 pieces"));
  const Finished written = tool({"data", "tokens", file, "--tokenizer", model, "--out", (folder / "tokens").string()});
  INFO(written.err);
  REQUIRE(written.exit_code == 0);
  CHECK_THAT(written.out, ContainsSubstring("training.bin") && ContainsSubstring("bytes each"));
  CHECK(lockstep::read_file(folder / "tokens" / "tokenizer.model") == lockstep::read_file(model));
  CHECK(std::filesystem::file_size(folder / "tokens" / "validation.bin") > 1024);
  CHECK(tool({"data", "tokens", file, "--tokenizer", "numbers", "--out", (folder / "t").string()}).exit_code == 2);
  CHECK_THAT(tool({"data", "tokenizer", file, "--pieces", "9", "--out", model}).err, ContainsSubstring("at least 259"));
}
