// Finds whose fault a failed compilation is: the submission's or the machine's.
#include "grading/sandboxed_build.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "grading/compiler_words.hpp"
#include "grading/manifest.hpp"
#include "grading/process_tree.hpp"
#include "grading/sandbox_user.hpp"
#include "grading_runs.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

class Compilation {
 public:
  Compilation()
      : workspace_{course_root(), fs::path(test::built_program("lockstep_grade")).parent_path().parent_path(),
                   exercise::read_catalogue(course_root())},
        sandbox_(Sandbox::best(test::built_program("lockstep_confine"), static_cast<uid_t>(user_.id()))) {
    if (const fs::path closed = sandbox_.closed_folder(course_root()); !closed.empty())
      test::skip("without bubblewrap, submissions' user may not enter " + closed.string());
    adopt_orphans();
    fs::permissions(folder_.path(), fs::perms::others_exec, fs::perm_options::add);
    make_stage(workspace_, stage());
  }
  [[nodiscard]] fs::path stage() const { return folder_.path() / "stage"; }
  [[nodiscard]] fs::path scratch() const { return folder_.path() / "scratch"; }
  [[nodiscard]] SubmittedProgram build(const std::string& text) const {
    fs::create_directories(scratch());
    const exercise::Exercise& one = find_exercise(workspace_.catalogue, "02.1");
    return build_submission(workspace_, one, {{path_in_submission(one, one.files.front()), text}}, sandbox_, stage(),
                            scratch());
  }

 private:
  test::TemporaryFolder folder_;
  SandboxUser user_;
  exercise::Workspace workspace_;
  Sandbox sandbox_;
};

std::string submission(const std::string& name) {
  return read_file(course_root() / "tests/workshop/grading/submissions" / (name + ".cpp"));
}

}  // namespace

TEST_CASE("a submission that does not compile is at fault, whatever it lets the compiler say", "[grading]") {
  const Compilation machine;
  CHECK(machine.build(submission("is_right")).errors.empty());
  for (const char* name : {"does_not_compile", "blames_the_disk", "blames_a_library"}) {
    INFO(name);
    const SubmittedProgram built = machine.build(submission(name));
    CHECK(built.setup.empty());
    CHECK(!built.errors.empty());
  }
  const SubmittedProgram missing = machine.build("#include \"no_such_header.hpp\"\n");
  CHECK(missing.setup.empty());
  CHECK_THAT(missing.errors, ContainsSubstring("no_such_header.hpp"));
}

TEST_CASE("headers that are gone are not a submission's fault", "[grading]") {
  const Compilation machine;
  fs::remove_all(machine.stage() / "exercises" / "02_ring_all_reduce");
  for (const char* name : {"is_right", "does_not_compile"}) {
    const SubmittedProgram built = machine.build(submission(name));
    CHECK(built.errors.empty());
    CHECK_THAT(built.setup, ContainsSubstring("template does not compile here either"));
  }
}

TEST_CASE("a full disk is not a submission's fault", "[grading]") {
  if (::geteuid() != 0 || ::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    test::skip("only root can mount a small disk");
  }
  const Compilation machine;
  fs::create_directories(machine.scratch());
  REQUIRE(::mount("tmpfs", machine.scratch().c_str(), "tmpfs", 0, "size=400k,mode=0755") == 0);
  const SubmittedProgram built = machine.build(submission("is_right"));
  ::umount2(machine.scratch().c_str(), MNT_DETACH);
  CHECK(built.errors.empty());
  CHECK_THAT(built.setup, ContainsSubstring("No space left on device"));
}

TEST_CASE("random names of temporary files are left out of what a compiler said", "[grading]") {
  CHECK(without_random_names("/tmp/ccaB3xyZ.s:3: Error\nld: /tmp/ccQQQQQQ.o and /tmp/ccx.h, /tmp/ccaB3xyZ0\n") ==
        "/tmp/cc.s:3: Error\nld: /tmp/cc.o and /tmp/ccx.h, /tmp/ccaB3xyZ0\n");
  CHECK(without_random_names("/tmp/cc") == "/tmp/cc");
}

TEST_CASE("a compiler's words are about a file, about the machine, or about neither", "[grading]") {
  const std::vector<std::string> files = {"sum.cpp"};
  CHECK(is_about_files("work/x/sum.cpp:3:5: error: expected ';'\n", files));
  CHECK(is_about_files("sum.cpp:3: error: expected ';'\n", files));
  CHECK(is_about_files("ld: sum.o: in function `f':\nsum.cpp:(.text+0x9): undefined reference to `g()'\n", files));
  for (const char* said :
       {"work/x/sum.cpp:3:5: warning: unused\n", "common/base/error.hpp:3:5: error: expected ';'\n", "",
        "work/x/mysum.cpp:3:5: error: x\n", "c++: fatal error: Killed signal terminated program cc1plus\n",
        "/usr/bin/ld: cannot find -lstdc++\ncollect2: error: ld returned 1 exit status\n",
        "work/x/sum.cpp:9:1: fatal error: error writing to /tmp/cc.s: No space left on device\n",
        "work/x/sum.cpp:1:10: fatal error: given.hpp: No such file or directory\n",
        "work/x/sum.cpp:9:1: error: x\nvirtual memory exhausted: Cannot allocate memory\n",
        "work/x/sum.cpp:9:1: error: x\nld: final link failed: Input/output error\n"}) {
    INFO(said);
    CHECK(!is_about_files(said, files));
  }
}

}  // namespace lockstep::grading
