#include "include_graph.hpp"

#include <map>
#include <string>

#include "cmake_targets.hpp"
#include "support/catch.hpp"
#include "temporary_tree.hpp"

using namespace lockstep::checks;

namespace {

/// base <- net <- chapter 01 <- chapter 02, one test; all in order.
Files sound() {
  return {
      {"common/base/CMakeLists.txt", "lockstep_module(base HEADERS error.hpp SOURCES error.cpp) # \"quoted\" (comment"},
      {"common/base/error.hpp", "#include <string>\n"},
      {"common/base/error.cpp", "#include \"base/error.hpp\"\n"},
      {"common/net/CMakeLists.txt",
       "lockstep_module(net HEADERS a.hpp SOURCES a.cpp\n  DEPENDS lockstep::base PRIVATE_DEPENDS OpenSSL::Crypto)"},
      {"common/net/a.hpp", "#include \"base/error.hpp\"\n"},
      {"common/net/a.cpp", "#include <openssl/hmac.h>\n#include \"net/a.hpp\"\n#include \"net/hidden.hpp\"\n"},
      {"common/net/hidden.hpp", ""},
      {"chapters/01_one/CMakeLists.txt",
       "lockstep_chapter(one HEADERS one.hpp DEPENDS lockstep::net PROGRAMS go PROGRAM_DEPENDS CLI11::CLI11)"},
      {"chapters/01_one/one.hpp", "#include \"net/a.hpp\"\n"},
      {"chapters/01_one/programs/go.cpp", "#include <CLI/CLI.hpp>\n#include \"01_one/one.hpp\"\n"},
      {"chapters/02_two/CMakeLists.txt", "lockstep_chapter(two HEADERS two.hpp DEPENDS lockstep::one)"},
      {"chapters/02_two/two.hpp", "#include \"01_one/one.hpp\"\n#include \"base/error.hpp\"\n"},
      {"tests/support/CMakeLists.txt",
       "add_library(lockstep_test_support STATIC main.cpp)\n"
       "target_link_libraries(lockstep_test_support PUBLIC Catch2::Catch2)\n"},
      {"tests/support/main.cpp", "#include \"support/catch.hpp\"\n"},
      {"tests/support/catch.hpp", "#include <catch2/catch.hpp>\n"},
      {"tests/net/CMakeLists.txt", "lockstep_test(net_test SOURCES a_test.cpp DEPENDS lockstep::net)"},
      {"tests/net/a_test.cpp", "#include \"support/catch.hpp\"\n#include \"net/a.hpp\"\n#include \"near.hpp\"\n"},
      {"tests/net/near.hpp", "#include \"base/error.hpp\"\n"},
  };
}

Problems with(const Files& changes) {
  Files files = sound();
  for (const auto& [path, content] : changes) files[path] = content;
  return check_include_graph(TemporaryTree(files).root());
}

}  // namespace

TEST_CASE("A sound project has no problem", "[course]") { CHECK(with({}).empty()); }

TEST_CASE("An include that DEPENDS does not cover is rejected", "[course]") {
  CHECK(
      with({{"common/base/error.cpp", "\n#include \"net/a.hpp\"\n"}}) ==
      Problems{
          "common/base/error.cpp:2 includes \"net/a.hpp\", but lockstep::base does not list lockstep::net in DEPENDS"});
  CHECK(with({{"common/net/a.hpp", "#include <nlohmann/json.hpp>\n"}}) ==
        Problems{"common/net/a.hpp:1 includes <nlohmann/json.hpp>, but its target does not list "
                 "nlohmann_json::nlohmann_json"});
}

TEST_CASE("A private dependency does not reach those who depend", "[course]") {
  CHECK(with({{"chapters/01_one/one.hpp", "#include <openssl/hmac.h>\n"}}).size() == 1);
  CHECK(with({{"chapters/02_two/two.hpp", "#include <CLI/CLI.hpp>\n"}}).size() == 1);
}

TEST_CASE("A private header of another target is rejected, an unknown file too", "[course]") {
  CHECK(with({{"chapters/01_one/one.hpp", "#include \"net/hidden.hpp\"\n"}}) ==
        Problems{"chapters/01_one/one.hpp:1 includes \"net/hidden.hpp\", a private header of another target"});
  CHECK(with({{"chapters/01_one/one.hpp", "#include \"net/none.hpp\"\n"}}) ==
        Problems{"chapters/01_one/one.hpp:1 includes \"net/none.hpp\", which is no file of the project"});
}

TEST_CASE("A chapter that uses a later one is rejected", "[course]") {
  CHECK(with({{"chapters/01_one/CMakeLists.txt",
               "lockstep_chapter(one HEADERS one.hpp DEPENDS lockstep::net lockstep::zero\n"
               " PROGRAMS go PROGRAM_DEPENDS CLI11::CLI11)"},
              {"chapters/03_zero/CMakeLists.txt", "lockstep_chapter(zero HEADERS zero.hpp)"},
              {"chapters/03_zero/zero.hpp", ""}}) ==
        Problems{"chapters/01_one/CMakeLists.txt: lockstep::one depends on lockstep::zero of a later chapter"});
}

TEST_CASE("Common never uses chapters", "[course]") {
  const Problems problems =
      with({{"common/top/CMakeLists.txt", "lockstep_module(top HEADERS top.hpp DEPENDS lockstep::one)"},
            {"common/top/top.hpp", "#include \"01_one/one.hpp\"\n"}});
  CHECK(problems ==
        Problems{"common/top/CMakeLists.txt: lockstep::top depends on lockstep::one: common never uses chapters"});
}

TEST_CASE("A cycle is reported once, by its path", "[course]") {
  CHECK(with({{"common/base/CMakeLists.txt",
               "lockstep_module(base HEADERS error.hpp SOURCES error.cpp PRIVATE_DEPENDS lockstep::net)"}}) ==
        Problems{"cycle: lockstep::base -> lockstep::net -> lockstep::base"});
}

TEST_CASE("A dependency that does not exist and a file that nobody lists are reported", "[course]") {
  CHECK(with({{"tests/net/CMakeLists.txt",
               "lockstep_test(net_test SOURCES a_test.cpp DEPENDS lockstep::net lockstep::nett)"}}) ==
        Problems{"tests/net/CMakeLists.txt: net_test depends on lockstep::nett, which does not exist"});
  CHECK(with({{"common/net/forgotten.cpp", ""}}) ==
        Problems{"common/net/forgotten.cpp is listed in no CMakeLists.txt"});
}

TEST_CASE("Modules that must not know one another are kept apart", "[course]") {
  CHECK(with({{"common/tensor/CMakeLists.txt", "lockstep_module(tensor HEADERS t.hpp)"},
              {"common/tensor/t.hpp", ""},
              {"common/comm/CMakeLists.txt", "lockstep_module(comm HEADERS c.hpp DEPENDS lockstep::tensor)"},
              {"common/comm/c.hpp", ""}}) ==
        Problems{"common/comm/CMakeLists.txt: lockstep::comm must not know lockstep::tensor"});
}

TEST_CASE("The project's own dependencies are sound", "[course][repository]") {
  for (const std::string& problem : check_include_graph(LOCKSTEP_SOURCE_DIR)) FAIL_CHECK(problem);
}

TEST_CASE("CMake commands are read with comments, quotes and nested parentheses", "[course]") {
  const auto commands = parse_cmake("# a(b)\nset(x \"1 2\" 3)\nif((a) AND b)\nendif()");
  REQUIRE(commands.size() == 3);
  CHECK(commands[0].arguments == std::vector<std::string>{"x", "1 2", "3"});
  CHECK(commands[1].name == "if");
  CHECK(commands[2].arguments.empty());
}
