#include "support/skip.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;

// Not run by themselves: the tests below do.
TEST_CASE("skip: a case that is skipped", "[.]") {
  test::skip("there is no moon");
  CHECK(false);  // never comes
}
TEST_CASE("skip: a case that is skipped for some values", "[.]") {
  const int value = GENERATE(1, 2, 3);
  if (value == 2) test::skip("there is no 2");
  CHECK(value != 2);
}
TEST_CASE("skip: a case that passes", "[.]") { CHECK(true); }
TEST_CASE("skip: a case that fails and is then skipped", "[.]") {
  CHECK(false);
  test::skip("too late");
}

namespace {

test::Finished run_cases(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "skip: " : ",skip: ") + name;
  return test::run_program({std::filesystem::read_symlink("/proc/self/exe").string(), list});
}

}  // namespace

TEST_CASE("a skip ends a case and not the program, which counts it and says why", "[base][skip]") {
  const test::Finished finished = run_cases({"a case that is skipped", "a case that passes"});
  CHECK(finished.exit_code == 0);
  CHECK(finished.err == "skipped: there is no moon\n");
  CHECK_THAT(finished.out, ContainsSubstring("(1 assertion in 2 test cases)"));
  CHECK_THAT(finished.out, ContainsSubstring("skipped: 1 of 2 test cases"));
}

TEST_CASE("a program whose cases are all skipped ends as CTest's skipped test", "[base][skip]") {
  CHECK(run_cases({"a case that is skipped"}).exit_code == test::kSkipped);
  const test::Finished some_values = run_cases({"a case that is skipped for some values"});
  CHECK(some_values.exit_code == test::kSkipped);
  CHECK(some_values.err == "skipped: there is no 2\n");
}

TEST_CASE("a case that has failed is not skipped any more", "[base][skip]") {
  const test::Finished finished = run_cases({"a case that fails and is then skipped", "a case that is skipped"});
  CHECK(finished.exit_code != 0);
  CHECK(finished.exit_code != test::kSkipped);
  CHECK_THAT(finished.out, ContainsSubstring("skipped: 1 of 2 test cases"));
}
