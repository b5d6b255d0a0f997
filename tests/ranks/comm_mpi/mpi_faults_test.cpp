// Failures of MPI, each in processes of its own: after a failure MPI is given up.
//
// Promised is that no rank hangs, and that each that lives on has an error that names the culprit. Whether it lives on
// is mpirun's choice: it ends all processes when one ends badly, unless told --enable-recovery, as here.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "comm_mpi/mpi_process_group.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The message to ranks 0 and 2 of three when rank 1 fails like this.
std::vector<std::string> errors_when_rank_1(const std::string& how, const std::string& join_seconds = "60") {
  const test::TemporaryFolder folder;
  test::Subprocess job({LOCKSTEP_MPIRUN_SCRIPT, "3", test::built_program("mpi_fault_helper"), how, folder.path()},
                       {{"LOCKSTEP_MPIRUN_OPTIONS", "--enable-recovery"}, {"LOCKSTEP_JOIN_SECONDS", join_seconds}});
  (void)job.wait();
  return {text_of(folder.path() / "0"), text_of(folder.path() / "2")};
}

}  // namespace

TEST_CASE("a rank of MPI that is killed is named by the others", "[mpi][multirank]") {
  for (const std::string& error : errors_when_rank_1("kill")) {
    CHECK_THAT(error, Catch::Matchers::StartsWith("PeerFailedError: ") && ContainsSubstring("rank 1"));
  }
}

TEST_CASE("a rank of MPI that ends with an exception is named by the others", "[mpi][multirank]") {
  for (const std::string& error : errors_when_rank_1("throw")) {
    CHECK_THAT(error, Catch::Matchers::StartsWith("PeerFailedError: ") && ContainsSubstring("rank 1"));
  }
}

TEST_CASE("a collective of MPI ends at its deadline", "[mpi][multirank]") {
  for (const std::string& error : errors_when_rank_1("deadline")) {
    CHECK_THAT(error, Catch::Matchers::StartsWith("TimeoutError: "));
  }
}

TEST_CASE("ranks of MPI that disagree are told who did what", "[mpi][multirank]") {
  for (const std::string& error : errors_when_rank_1("mismatch")) {
    CHECK_THAT(error, Catch::Matchers::StartsWith("MismatchError: ") &&
                          ContainsSubstring("rank 1 all_reduce #20 (max of 11 float32)"));
  }
}

TEST_CASE("a rank that makes no group of MPI is named by the others", "[mpi][multirank]") {
  for (const std::string& error : errors_when_rank_1("absent", "3")) {
    CHECK_THAT(error, Catch::Matchers::StartsWith("TimeoutError: "));
    CHECK_THAT(error, ContainsSubstring("waiting for rank 1 to make its group of MPI: not within 3."));
  }
}

TEST_CASE("a process of mpirun that never calls MPI keeps nobody waiting without a limit", "[mpi][multirank]") {
  for (const std::string& error : errors_when_rank_1("outside", "3")) {
    CHECK_THAT(error, Catch::Matchers::StartsWith("TimeoutError: "));
    CHECK_THAT(error, ContainsSubstring("MPI_Init_thread has not returned for 3."));
  }
}

TEST_CASE("a program that has initialized MPI for one thread is told so at each attempt to make a group",
          "[mpi][multirank]") {
  const std::string reason = "another error: MPI was initialized for one thread; a process group calls it from several";
  for (const std::string& errors : errors_when_rank_1("one_thread")) {
    CHECK_THAT(errors, Catch::Matchers::StartsWith(reason) && ContainsSubstring("\n" + reason));
  }
}

TEST_CASE("ranks that mpirun has not started are told to start with it", "[mpi][multirank]") {
  const auto outcomes = test::run_ranks(
      2, [](comm::JobContext context) { (void)mpi_backend::make_mpi_process_group(std::move(context)); });
  for (const test::RankOutcome& outcome : outcomes) {
    // The first to notice ends, and the other may be told so before it has looked itself.
    CHECK((outcome.is<UnavailableError>() || outcome.is<PeerFailedError>()));
    CHECK_THAT(outcome.message(), ContainsSubstring("start them with: mpirun -n 2 PROGRAM"));
  }
}

TEST_CASE("one rank needs no mpirun", "[mpi]") {
  const auto group = mpi_backend::make_mpi_process_group(comm::JobContext());
  std::vector<double> values{1, 2, 3}, copy(3);
  group->all_reduce(comm::host_buffer(std::span(values)), comm::ReduceOp::kMean).synchronize();
  group->all_gather(comm::host_buffer(std::span(copy)), comm::host_buffer(std::span(values))).synchronize();
  group->barrier().synchronize();
  CHECK(copy == std::vector<double>{1, 2, 3});
}
