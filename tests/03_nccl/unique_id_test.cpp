#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;

namespace {

// The ids that the ranks of one job have printed, and how many ranks did.
std::pair<std::set<std::string>, int> ids_of_a_job() {
  const test::Finished finished = test::run_program(
      {test::built_program("lockstep"), "launch", "--nproc", "3", "--", test::built_program("unique_id_helper")}, {});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  std::set<std::string> ids;
  int ranks = 0;
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("id ");
    if (at == std::string::npos) continue;
    ids.insert(line.substr(at));
    ++ranks;
  }
  return {ids, ranks};
}

}  // namespace

TEST_CASE("processes get rank 0's unique id through the store, and another one in every job", "[nccl][multirank]") {
  const auto [first, first_ranks] = ids_of_a_job();
  CHECK(first_ranks == 3);
  CHECK(first.size() == 1);
  const auto [second, second_ranks] = ids_of_a_job();
  CHECK(second_ranks == 3);
  CHECK(first != second);
  CHECK(std::ranges::count(*first.begin(), '0') < 250);  // of 256 digits: it is no empty id
}
