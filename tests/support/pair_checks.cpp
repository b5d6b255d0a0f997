#include "support/pair_checks.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>

#include "net/token.hpp"
#include "store/tcp_store.hpp"
#include "support/catch.hpp"

namespace lockstep::test {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

// One thread per process: the order of additions in a matrix product may depend on the number of threads.
const std::pair<std::string, std::string> kOneThread{"OMP_NUM_THREADS", "1"};

// What makes a process a rank; empty values remove what the test itself may have been started with.
Variables no_rank() { return {{"RANK", ""}, {"WORLD_SIZE", ""}, {"LOCKSTEP_STORE", ""}, kOneThread}; }

std::vector<double> losses_in(const std::string& output) {
  std::vector<double> losses;
  std::istringstream lines(output);
  std::string step, number, loss;
  double value = 0;
  while (lines >> step >> number >> loss >> value) losses.push_back(value);
  return losses;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

std::vector<Finished> run_on_ranks(int world_size, const std::string& program,
                                   const std::vector<std::string>& arguments) {
  const std::string token = net::make_token();
  const store::TcpStoreServer store({}, token);
  const std::string ranks = std::to_string(world_size);
  std::vector<std::unique_ptr<Subprocess>> processes;
  for (int i = 0; i < world_size; ++i) {
    const std::string rank = std::to_string(i);
    std::vector<std::string> command{built_program(program)};
    command.insert(command.end(), arguments.begin(), arguments.end());
    processes.push_back(std::make_unique<Subprocess>(command, Variables{{"RANK", rank},
                                                                        {"LOCAL_RANK", rank},
                                                                        {"WORLD_SIZE", ranks},
                                                                        {"LOCAL_WORLD_SIZE", ranks},
                                                                        {"LOCKSTEP_STORE", store.address().text()},
                                                                        {"LOCKSTEP_TOKEN", token},
                                                                        {"LOCKSTEP_GENERATION", "0"},
                                                                        kOneThread}));
  }
  std::vector<Finished> finished;
  for (const auto& process : processes) finished.push_back(process->wait());
  return finished;
}

void check_pair(const std::string& single, const std::string& distributed, double tolerance) {
  const Finished baseline = run_program({built_program(single)}, no_rank());
  REQUIRE(baseline.exit_code == 0);
  const std::vector<double> losses = losses_in(baseline.out);
  REQUIRE(losses.size() >= 10);
  REQUIRE(losses.back() < 0.5 * losses.front());  // it learns

  CHECK(run_program({built_program(distributed)}, no_rank()).out == baseline.out);
  CHECK(run_on_ranks(1, distributed)[0].out == baseline.out);

  const double allowed = tolerance * losses.front();
  for (const int world_size : {2, 3, 4}) {
    const std::vector<Finished> ranks = run_on_ranks(world_size, distributed);
    CAPTURE(world_size, ranks[0].err);
    CHECK(ranks[0].exit_code == 0);
    CHECK(largest_difference(losses_in(ranks[0].out), losses) <= allowed);
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) CHECK(ranks[rank].out == "");
  }
  const Finished other = run_on_ranks(2, distributed, {"--seed", "2"})[0];
  CHECK(losses_in(other.out).size() == losses.size());
  CHECK(largest_difference(losses_in(other.out), losses) > 1000 * allowed);

  const std::vector<Finished> uneven = run_on_ranks(2, distributed, {"--batch-size", "7"});
  for (const Finished& rank : uneven) {
    CHECK(rank.exit_code == 1);
    CHECK_THAT(rank.err, ContainsSubstring("--batch-size 7 is not divisible by 2 ranks"));
  }
}

}  // namespace lockstep::test
