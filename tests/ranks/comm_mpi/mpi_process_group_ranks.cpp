// The contract of every backend, for MPI. Runs as several processes (mpirun.sh), each of which is one rank; [3] needs
// three.
#include "comm_mpi/mpi_process_group.hpp"
#include "support/catch.hpp"
#include "support/collective_checks.hpp"
#include "support/every_collective_checks.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;

namespace {

const test::GroupFactory kMpi = [](comm::JobContext context) {
  return mpi_backend::make_mpi_process_group(std::move(context));
};
// As buffers of more elements than an int counts are reduced.
const test::GroupFactory kParts = [](comm::JobContext context) {
  return mpi_backend::make_mpi_process_group(std::move(context), {.most_elements = 300});
};

}  // namespace

// The first of all: MPI begins when every process has made a group.
TEST_CASE("every process that mpirun has started is a rank", "[mpi][multirank][any][5]") {
  const int count = test::TestProcesses::current()->count();
  const auto sizes =
      test::run_ranks_for<int>(count, [](comm::JobContext context) { return kMpi(std::move(context))->world_size(); });
  CHECK(sizes == std::vector<int>(static_cast<std::size_t>(count), count));
}

TEST_CASE("MPI reduces every dtype and operation correctly", "[mpi][multirank][any]") {
  test::check_all_reduce(kMpi, 100003);
}
TEST_CASE("MPI broadcasts from every root", "[mpi][multirank][any]") { test::check_broadcast(kMpi); }
TEST_CASE("MPI's other collectives are right for every dtype, operation, root and count", "[mpi][multirank][any]") {
  test::check_every_collective(kMpi);
}
TEST_CASE("MPI reduces and broadcasts correctly in parts", "[mpi][multirank][3]") {
  test::check_all_reduce(kParts, 0);
  test::check_broadcast(kParts);
}
TEST_CASE("NaN propagates through MPI", "[mpi][multirank][3]") { test::check_nan_propagates(kMpi); }
TEST_CASE("MPI runs collectives in issue order", "[mpi][multirank][3]") { test::check_issue_order(kMpi); }
TEST_CASE("MPI works in place", "[mpi][multirank][3]") { test::check_in_place(kMpi); }
TEST_CASE("MPI reduces several buffers as one", "[mpi][multirank][3]") { test::check_coalesced(kMpi); }
TEST_CASE("MPI moves objects", "[mpi][multirank][3]") { test::check_objects(kMpi); }
TEST_CASE("grouped calls beside MPI move at the same time", "[mpi][multirank][4]") { test::check_grouped_calls(kMpi); }
TEST_CASE("groups split from MPI groups do not interfere", "[mpi][multirank][4]") { test::check_nested_splits(kMpi); }
TEST_CASE("a group of MPI splits into groups", "[mpi][multirank][5]") { test::check_split(kMpi); }
// Not promised of MPI, but seen: with these counts and algorithms the order of additions is the same in every run.
TEST_CASE("this MPI's bits are equal on all ranks and in every run", "[mpi][multirank][5]") {
  test::check_bits_repeat(kMpi);
}
