// How `./lockstep run NN --mine` builds a learner's files into a trainer: with the build's own commands.
#include "exercise_tool/build_work.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "exercise_tool/shell.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::exercise;

TEST_CASE("a learner's source takes the place of the template's, whose object stays as it is", "[exercise]") {
  const std::string object = "exercises/mine/CMakeFiles/train_x.dir/__/09_y/2_z/step.cpp.o";
  const std::string own = "exercises/mine/CMakeFiles/train_x.dir/work/__/09_y/2_z/step.cpp.o";
  const Relinked with_own = with_learners_source(
      "c++ -include CMakeFiles/ordinary.dir/pch.hxx -MD -MT " + object + " -MF " + object + ".d -o " + object +
          " -c ../../exercises/09_y/2_z/step.cpp",
      "c++ exercises/mine/CMakeFiles/parts.dir/main.cpp.o " + object + " -o exercises/train_x_work lib.a",
      "exercises/09_y/2_z/", "work/09.2_z/");
  CHECK(with_own.compile == "c++ -include CMakeFiles/ordinary.dir/pch.hxx -MD -MT " + own + " -MF " + own + ".d -o " +
                                own + " -c ../../work/09.2_z/step.cpp");
  CHECK(with_own.link ==
        "c++ exercises/mine/CMakeFiles/parts.dir/main.cpp.o " + own + " -o exercises/train_x_work lib.a");
}

TEST_CASE("in a program without the template, a learner's object comes before the library with such a source",
          "[exercise]") {
  const Relinked with_own = with_learners_source(
      "c++ -o exercises/CMakeFiles/exercise_06_5_template.dir/06_g/5_o/reducer.cpp.o -c "
      "../../exercises/06_g/5_o/reducer.cpp",
      "c++ exercises/mine/CMakeFiles/parts.dir/main.cpp.o -o exercises/train_x_work libreducer.a",
      "exercises/06_g/5_o/", "work/06.5_o/");
  CHECK(with_own.compile ==
        "c++ -o exercises/CMakeFiles/exercise_06_5_template.dir/work/06_g/5_o/reducer.cpp.o -c "
        "../../work/06.5_o/reducer.cpp");
  CHECK(with_own.link ==
        "c++ exercises/mine/CMakeFiles/parts.dir/main.cpp.o "
        "exercises/CMakeFiles/exercise_06_5_template.dir/work/06_g/5_o/reducer.cpp.o -o exercises/train_x_work "
        "libreducer.a");
}

TEST_CASE("a source that the compiler quotes cannot control the terminal", "[exercise]") {
  const Workspace course{.root = "/course", .build = "/course/build/cpu", .catalogue = {}};
  CHECK(as_learner_knows(course, "/course/work/a.cpp:1:2: error: #error \x1b[2Jpassed\n  1 |\t\u2018x\u2019\n") ==
        "work/a.cpp:1:2: error: #error ?[2Jpassed\n  1 |\t\u2018x\u2019\n");
}

TEST_CASE("what the tools build takes no more compilers at once than the script found memory for", "[exercise]") {
  const char* given = std::getenv("LOCKSTEP_JOBS");
  const std::string kept = given == nullptr ? "" : given;
  const std::vector<std::string> plain = {"ninja", "-C", "/course/build"};
  ::unsetenv("LOCKSTEP_JOBS");
  CHECK(ninja_in("/course/build") == plain);
  ::setenv("LOCKSTEP_JOBS", "3", 1);
  CHECK(ninja_in("/course/build") == std::vector<std::string>{"ninja", "-C", "/course/build", "-j", "3"});
  ::setenv("LOCKSTEP_JOBS", "0", 1);
  CHECK_THROWS_AS(ninja_in("/course/build"), FormatError);
  ::setenv("LOCKSTEP_JOBS", kept.c_str(), 1);
}
