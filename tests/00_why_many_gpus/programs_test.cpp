// The chapter's programs as a user runs them. The numbers that they print are compared by the lesson.
#include <fstream>
#include <sstream>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using test::built_program;
using test::Finished;
using test::run_program;

TEST_CASE("topology without a GPU says so in one line and counts as skipped", "[plan][chapter]") {
  // A PATH without nvidia-smi, even if the test runs on a machine with GPUs.
  const Finished result = run_program({built_program("topology")}, {{"PATH", "/nonexistent"}});
  CHECK(result.exit_code == 77);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, ContainsSubstring("nvidia-smi is not on this machine"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

TEST_CASE("topology runs nvidia-smi if there is one", "[plan][chapter]") {
  const test::TemporaryFolder folder;
  const std::string script =
      "#!/bin/sh\nwhile IFS= read -r line; do echo \"$line\"; done <\"" LOCKSTEP_TOPOLOGIES "/pcie_workstation.txt\"\n";
  write_file(folder / "nvidia-smi", script);
  std::filesystem::permissions(folder / "nvidia-smi", std::filesystem::perms::owner_all);
  const Finished result = run_program({built_program("topology")}, {{"PATH", folder.path().string()}});
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.out, ContainsSubstring("4 GPUs, 0 network cards"));
}

TEST_CASE("topology names file, line and column of what it cannot read", "[plan][chapter]") {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "matrix.txt").string();
  write_file(file, "\tGPU0\tGPU1\nGPU0\t X \tPIG\n");
  const Finished result = run_program({built_program("topology"), file});
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.err, ContainsSubstring(file + ":2:10: the path from GPU0 to GPU1 is \"PIG\""));
  CHECK_THAT(run_program({built_program("topology"), "-"}).err, ContainsSubstring("standard input:1:1: "));
  CHECK(run_program({built_program("topology"), (folder / "none").string()}).exit_code == 1);
}

TEST_CASE("strategies is plain in a file, coloured where asked, and the letters are the same", "[plan][chapter]") {
  const Finished plain = run_program({built_program("strategies"), "--world-size", "2"});
  const Finished coloured = run_program({built_program("strategies"), "--world-size", "2", "--color"});
  CHECK(plain.exit_code == 0);
  CHECK(plain.out.find('\033') == std::string::npos);
  CHECK(coloured.out.find('\033') != std::string::npos);
  std::string stripped;
  for (std::size_t i = 0; i < coloured.out.size(); ++i) {
    if (coloured.out[i] != '\033')
      stripped += coloured.out[i];
    else
      i = coloured.out.find('m', i);
  }
  CHECK(stripped == plain.out);
}

TEST_CASE("which strategy when: the tables fit 80 columns, and a long division goes on in a second line",
          "[plan][chapter]") {
  const std::vector<std::vector<std::string>> calls = {
      {"--when"},
      {"--gpus", "64"},
      {"--gpus", "64", "--parameters", "70e9", "--layers", "80", "--hidden", "8192", "--heads", "64"},
      {"--gpus", "1024", "--parameters", "175e9", "--layers", "96", "--hidden", "12288", "--heads", "96"}};
  for (const std::vector<std::string>& options : calls) {
    std::vector<std::string> call = {built_program("strategies")};
    call.insert(call.end(), options.begin(), options.end());
    const Finished result = run_program(call);
    CHECK(result.exit_code == 0);
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(line.size() <= 80);
    }
  }
  CHECK(run_program({built_program("strategies"), "--when", "--gpus", "64"}).exit_code == 2);
  CHECK_THAT(run_program({built_program("strategies"), "--when"}).out,
             ContainsSubstring("tensor 8 x pipeline 4 x  ") &&
                 ContainsSubstring("\n                            ZeRO 1 on 32\n"));
}

TEST_CASE("what cannot be cut ends with exit code 2 and a way out", "[plan][chapter]") {
  const Finished result = run_program({built_program("strategies"), "--world-size", "5"});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, ContainsSubstring("take a multiple of 5"));
  const Finished link = run_program({built_program("link_budget"), "--link", "NVLink 9"});
  CHECK(link.exit_code == 2);
  CHECK_THAT(link.err, ContainsSubstring("use one of PCIe 3 x16"));
}

TEST_CASE("time_budget refuses options that --hours replaces", "[plan][chapter]") {
  const Finished result = run_program({built_program("time_budget"), "--hours", "24", "--utilisation", "0.5"});
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.err, ContainsSubstring("--utilisation is for a time that is computed: leave --hours out"));
}

TEST_CASE("link_probe measures, fits and predicts on any machine", "[plan][chapter]") {
  CHECK(run_program({built_program("link_probe"), "--timeout", "1e30"}).exit_code == 2);
  const Finished result = run_program({built_program("link_probe"), "--world-size", "4"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  for (const char* part : {"copying in memory", "through a pipe", "measured us", "16777216", "fitted: alpha",
                           "A ring of 4 ranks, each with such a link", "\n100 MB in "}) {
    CHECK_THAT(result.out, ContainsSubstring(part));
  }
}
