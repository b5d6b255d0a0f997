// The program rank_grid: what it draws, and the groups of real processes.
#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;
using test::Finished;

namespace {

Finished rank_grid(const std::vector<std::string>& options) {
  std::vector<std::string> command{test::built_program("rank_grid")};
  command.insert(command.end(), options.begin(), options.end());
  return test::run_program(command);
}

Finished rank_grid_as_ranks(const std::string& world_size, const std::vector<std::string>& options) {
  std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc", world_size, "--",
                                   test::built_program("rank_grid")};
  command.insert(command.end(), options.begin(), options.end());
  return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
}

std::string with_single_blanks(const std::string& text) {
  std::istringstream words(text);
  std::string all;
  for (std::string word; words >> word;) all += word + " ";
  return all;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

}  // namespace

TEST_CASE("rank_grid draws 8 ranks", "[grid]") {
  const Finished finished = rank_grid({"--world", "8", "--tensor", "2", "--pipeline", "2", "--ranks-per-host", "4"});
  CHECK(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("8 ranks = pipeline 2 x data 2 x tensor 2, on 2 hosts") &&
                               ContainsSubstring("tensor changes first, then data, then pipeline\n") &&
                               ContainsSubstring("pipeline 0    [0 1]  [2 3]\n") &&
                               ContainsSubstring("pipeline 1    [4 5]  [6 7]\n"));
  CHECK_THAT(finished.out,
             ContainsSubstring("tensor, within hosts") && ContainsSubstring("{0,1} {2,3} {4,5} {6,7}") &&
                 ContainsSubstring("data, within hosts") && ContainsSubstring("{0,2} {1,3} {4,6} {5,7}") &&
                 ContainsSubstring("pipeline, across hosts") && ContainsSubstring("{0,4} {1,5} {2,6} {3,7}"));
  CHECK(finished.out.find_first_of("*+") == std::string::npos);  // exercise 12.1 asks for the formula of a rank
}

TEST_CASE("every grid fits into 80 columns", "[grid]") {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--world", "1", "--tensor", "1", "--pipeline", "1"},
                                             {"--world", "1024", "--tensor", "8", "--pipeline", "4"},
                                             {"--world", "100000", "--tensor", "4", "--pipeline", "25"},
                                             {"--world", "4096", "--tensor", "1", "--pipeline", "1"},
                                             {"--world", "512", "--tensor", "512", "--pipeline", "1"}}) {
    const Finished finished = rank_grid(options);
    INFO(finished.out << finished.err);
    CHECK(finished.exit_code == 0);
    CHECK(widest_line(finished.out) <= 80);
  }
}

TEST_CASE("rank_grid says what no grid can be", "[grid]") {
  const Finished odd = rank_grid({"--world", "6", "--tensor", "2", "--pipeline", "2"});
  CHECK(odd.exit_code == 2);
  CHECK_THAT(odd.err, ContainsSubstring("6 ranks are no multiple of --tensor 2 x --pipeline 2"));
  const Finished hosts = rank_grid({"--world", "8", "--tensor", "8", "--pipeline", "1", "--ranks-per-host", "4"});
  CHECK(hosts.exit_code == 2);
  CHECK_THAT(hosts.err, ContainsSubstring("tensor ranks 3, 4 are on different hosts"));
}

TEST_CASE("ranks of mpirun are ranks, and what they cannot do is refused before they wait for one another", "[grid]") {
  const auto first_of = [](const std::string& ranks, const std::vector<std::string>& options) {
    std::vector<std::string> command{test::built_program("rank_grid")};
    command.insert(command.end(), options.begin(), options.end());
    return test::run_program(
        command, {{"RANK", ""}, {"WORLD_SIZE", ""}, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", ranks}});
  };
  const Finished many = first_of("21", {"--tensor", "1", "--pipeline", "1"});
  CHECK(many.exit_code == 2);
  CHECK_THAT(many.err, ContainsSubstring("the sums are for at most 20 ranks"));
  const Finished apart = first_of("8", {"--tensor", "8", "--pipeline", "1", "--ranks-per-host", "4"});
  CHECK(apart.exit_code == 2);
  CHECK_THAT(apart.err, ContainsSubstring("tensor ranks 3, 4 are on different hosts"));
}

TEST_CASE("as ranks it adds up each rank once in each group", "[grid][multirank]") {
  const Finished finished = rank_grid_as_ranks("4", {"--tensor", "2", "--pipeline", "2"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  // Rank 2: with 3 on the tensor axis, alone on the data axis, with 0 on the pipeline.
  CHECK_THAT(with_single_blanks(finished.out), ContainsSubstring("rank 2 1100 0100 0101"));
}

TEST_CASE("a killed rank is named with its group and place by all others", "[grid][multirank]") {
  const auto begin = std::chrono::steady_clock::now();
  const Finished finished = rank_grid_as_ranks("8", {"--tensor", "2", "--pipeline", "2", "--kill", "5"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code != 0);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
  const std::string culprit = "rank 5 (pipeline 1, data 0, tensor 1) is in ", all = finished.out + finished.err;
  CHECK_THAT(all, ContainsSubstring(culprit + "tensor{4,5} with this rank 4 (pipeline 1, data 0, tensor 0)"));
  CHECK_THAT(all, ContainsSubstring(culprit + "data{5,7} with this rank 7 (pipeline 1, data 1, tensor 1)"));
  CHECK_THAT(all, ContainsSubstring(culprit + "pipeline{1,5} with this rank 1 (pipeline 0, data 0, tensor 1)"));
  for (const char* const rank : {"0 ", "2 ", "3 ", "6 "})
    CHECK_THAT(all, ContainsSubstring(culprit + "no group with this rank " + rank));
}
