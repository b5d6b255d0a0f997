#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using lockstep::test::Finished;

namespace {

// With a folder of stand-ins for NVIDIA's programs in front of PATH.
Finished run_with(const fs::path& stand_ins, const std::vector<std::string>& command) {
  return lockstep::test::run_program(command, {{"PATH", stand_ins.string() + ":/usr/local/bin:/usr/bin:/bin"}});
}

Finished session(const fs::path& stand_ins, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"bash", LOCKSTEP_SESSION};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_with(stand_ins, command);
}

void add_program(const fs::path& folder, const std::string& name, const std::string& body) {
  lockstep::write_file(folder / name, "#!/bin/sh\n" + body + "\n");
  fs::permissions(folder / name, fs::perms::owner_all);
}

}  // namespace

TEST_CASE("without a GPU the session says so in one line and counts as skipped", "[gpu]") {
  const lockstep::test::TemporaryFolder folder;
  add_program(folder.path(), "nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9");
  const Finished finished = session(folder.path(), {});
  CHECK(finished.exit_code == 77);
  CHECK(finished.out.empty());
  CHECK(finished.err ==
        "session.sh: no NVIDIA GPU is visible here (nvidia-smi -L lists none), so nothing was run on hardware\n");
}

TEST_CASE("a wrong option of the session ends with 2 and says what there is", "[gpu]") {
  const lockstep::test::TemporaryFolder folder;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--budget", "soon"}, {"--only", "probes"}, {"--out"}, {"--fast"}}) {
    const Finished finished = session(folder.path(), arguments);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring("session.sh: "));
  }
}

TEST_CASE("a phase that fails is told in the results, and the summary comes last", "[gpu]") {
  const lockstep::test::TemporaryFolder folder;
  add_program(folder.path(), "nvidia-smi", "[ \"$1\" = -L ] && echo 'GPU 0: stand-in' || echo 'stand-in, 1.2, 3 MiB'");
  add_program(folder.path(), "nvcc", "echo 'no compiler here'; exit 1");
  add_program(folder.path(), "compute-sanitizer", "exit 1");
  const fs::path out = folder / "out";
  const Finished finished =
      session(folder.path(), {"--budget", "20", "--only", "probe,sanitizer", "--out", out.string()});
  CHECK(finished.exit_code == 1);
  if (run_with(folder.path(), {"bash", "-c", "command -v python3"}).exit_code != 0) {  // no dependency of the course
    CHECK_THAT(finished.err, ContainsSubstring("session.sh: python3 is needed"));
    return;
  }
  CHECK_THAT(finished.out, ContainsSubstring("session.sh: failed"));
  CHECK_THAT(finished.out, ContainsSubstring("probe      failed"));
  const std::string results = lockstep::read_file(out / "results.jsonl");
  CHECK_THAT(results, ContainsSubstring("\"gpu\": \"stand-in\""));
  CHECK_THAT(results, ContainsSubstring("\"phase\": \"probe\", \"event\": \"end\", \"verdict\": \"failed\""));
  const std::string last = results.substr(results.rfind('\n', results.size() - 2) + 1);  // 2: past the last line's end
  CHECK_THAT(last, ContainsSubstring("\"phase\": \"summary\""));
}
