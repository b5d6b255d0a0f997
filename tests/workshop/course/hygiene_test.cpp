#include "hygiene.hpp"

#include <string>

#include "support/catch.hpp"
#include "temporary_tree.hpp"

using namespace lockstep::checks;

namespace {

Problems hygiene_problems(const std::string& line) {
  return check_hygiene(TemporaryTree(Files{{"a.txt", line}}).root());
}

// Written in two pieces, so that this file itself passes.
const std::string kHome = std::string("/ho") + "me/", kSecure = std::string("https:") + "//";

}  // namespace

TEST_CASE("Paths of somebody's machine are rejected", "[course]") {
  CHECK(hygiene_problems("ok\nsee " + kHome + "ada/lockstep now") ==
        Problems{"a.txt:2 names a path of one machine: " + kHome + "ada/lockstep"});
  CHECK(hygiene_problems("`work/02.1` and ./work/x and ../work/y, $HOME/x, /usr/include, /tmp/x").empty());
}

TEST_CASE("Hosts that are not known to be public are rejected", "[course]") {
  CHECK(hygiene_problems(kSecure + "mirror.corp.internal/simple") ==
        Problems{"a.txt:1 names mirror.corp.internal, which is not on the list of public hosts"});
  CHECK(hygiene_problems(kSecure + "docs.pytorch.org/x " + kSecure + "github.com " + kSecure +
                         "127.0.0.1:80 tcp://host:1")
            .empty());
  CHECK(hygiene_problems(kSecure + "notgithub.com").size() == 1);
}

TEST_CASE("Starting a program elsewhere than in base/process.cpp is rejected", "[course]") {
  const std::string call = "  ::" + std::string("posix_") + "spawnp(&pid, name);\n";
  const Files files = {{"common/base/process.cpp", call},
                       {"common/x/a.cpp", "\n" + call},
                       {"tests/b.cpp", "spawn(), popen(3), popen()"}};
  CHECK(check_program_starts(TemporaryTree(files).root()) ==
        Problems{"common/x/a.cpp:2 calls " + std::string("posix_") + "spawnp(): use base/process.hpp"});
}

TEST_CASE("One source starts programs", "[course][repository]") {
  for (const std::string& problem : check_program_starts(LOCKSTEP_SOURCE_DIR)) FAIL_CHECK(problem);
}

TEST_CASE("Nothing of a machine is committed", "[course][repository]") {
  for (const std::string& problem : check_hygiene(LOCKSTEP_SOURCE_DIR)) FAIL_CHECK(problem);
}
