// The shell script ./lockstep, as far as it runs without installing or building.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using lockstep::test::Finished;
using lockstep::test::run_program;

namespace {

const std::string kScript = std::string(LOCKSTEP_SOURCE_DIR) + "/lockstep";

/// A folder of links to programs, used as a PATH that lacks all others.
class ProgramFolder {
 public:
  explicit ProgramFolder(const std::vector<std::string>& programs) {
    std::string name = (fs::temp_directory_path() / "lockstep-path-XXXXXX").string();
    path = mkdtemp(name.data());
    for (const std::string& program : programs) {
      for (const fs::path folder : {"/usr/bin", "/bin"}) {
        std::error_code exists_already;
        if (fs::exists(folder / program)) fs::create_symlink(folder / program, path / program, exists_already);
      }
    }
  }
  ProgramFolder(const ProgramFolder&) = delete;
  ProgramFolder& operator=(const ProgramFolder&) = delete;
  ~ProgramFolder() { fs::remove_all(path); }
  fs::path path;
};

}  // namespace

TEST_CASE("the script says what to do first where nothing is built", "[tool]") {
  const Finished script = run_program({kScript}, {{"LOCKSTEP_PRESET", "not-built"}});
  CHECK(script.exit_code == 0);
  CHECK_THAT(script.out, ContainsSubstring("./lockstep train") && ContainsSubstring("./lockstep test"));
  CHECK_FALSE(fs::exists(fs::path(LOCKSTEP_SOURCE_DIR) / "build" / "not-built"));
}

// A folder that only its owner may write to, with another user, or with the owner after giving up that right.
TEST_CASE("a course that this user cannot write to is said to be its owner's, with how to get one's own", "[tool]") {
  const lockstep::test::TemporaryFolder folder;
  const fs::path course = folder / "course";
  fs::create_directories(course / "build" / "cpu");
  fs::copy_file(kScript, course / "lockstep");
  std::ofstream(course / "build" / "cpu" / "lock") << "";
  const bool is_root = geteuid() == 0;
  const bool has_build = GENERATE(true, false);
  const bool has_git = GENERATE(true, false);
  if (!has_build) fs::remove_all(course / "build");
  if (has_git) fs::create_directory(course / ".git");
  const std::vector<fs::path> read_only = {course, course / "build", course / "build" / "cpu"};
  const auto allow = [&](fs::perms who) {
    for (const fs::path& path : read_only)
      if (fs::exists(path))
        fs::permissions(path, who | fs::perms::others_read | fs::perms::others_exec | fs::perms::group_read |
                                  fs::perms::group_exec);
  };
  fs::permissions(folder.path(), fs::perms::all);
  allow(is_root ? fs::perms::owner_all : fs::perms::owner_read | fs::perms::owner_exec);
  std::vector<std::string> command = {(course / "lockstep").string(), "train"};
  if (is_root) command.insert(command.begin(), {"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"});
  const Finished script = run_program(command, {{"LOCKSTEP_PRESET", "cpu"}});
  allow(fs::perms::owner_all);
  CHECK(script.exit_code == 1);
  CHECK_THAT(script.err, ContainsSubstring(is_root ? "this course belongs to root" : "nothing can be written in"));
  CHECK_THAT(script.err, ContainsSubstring((has_git ? "git clone " : "cp -r ") + course.string()));
  CHECK_THAT(script.err, !ContainsSubstring("Permission denied"));
}

TEST_CASE("the script lists what is missing with reasons, and installs nothing when told so", "[tool]") {
  const ProgramFolder programs({"env", "bash", "readlink", "dirname", "g++", "cmake"});
  const Finished script = run_program({kScript, "--no-install"}, {{"PATH", programs.path.string()}});
  CHECK(script.exit_code == 1);
  CHECK_THAT(script.err, ContainsSubstring("ninja-build") && ContainsSubstring("runs the build"));
  CHECK_THAT(script.err, !ContainsSubstring("compiles the code"));  // g++ is there
}

TEST_CASE("the script lists what the site needs, and nothing else", "[tool]") {
  const ProgramFolder programs({"env", "bash", "readlink", "dirname", "python3"});
  const Finished script = run_program({kScript, "--no-install", "docs"}, {{"PATH", programs.path.string()}});
  CHECK(script.exit_code == 1);
  CHECK_THAT(script.err, ContainsSubstring("cmark-gfm") && ContainsSubstring("renders Markdown as GitHub does"));
  CHECK_THAT(script.err, ContainsSubstring("doxygen") && !ContainsSubstring("ninja-build"));
}

TEST_CASE("the script works from any folder and through a link", "[tool]") {
  const ProgramFolder folder({});
  fs::create_symlink(kScript, folder.path / "linked");
  const Finished script = run_program({"sh", "-c", "cd / && exec " + (folder.path / "linked").string() + " --help"},
                                      {{"LOCKSTEP_PRESET", "not-built"}});
  CHECK(script.exit_code == 0);
}
