#include "support/pair_checks.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "net/token.hpp"
#include "store/tcp_store.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::test {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

// One thread per process: the order of additions in a matrix product may depend on the number of threads.
const std::pair<std::string, std::string> kOneThread{"OMP_NUM_THREADS", "1"};

// The variables of a rank, emptied, so that a child does not inherit those of the test itself.
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

/// The loss of every step in the only run folder in `out`; empty if there is no such folder.
std::vector<double> losses_below(const std::filesystem::path& out) {
  std::vector<double> losses;
  std::error_code ignored;
  for (const auto& run : std::filesystem::directory_iterator(out, ignored)) {
    std::ifstream lines(run.path() / "metrics.jsonl");
    for (std::string line; std::getline(lines, line);) losses.push_back(nlohmann::json::parse(line).at("loss"));
  }
  return losses;
}

struct Trained {
  std::vector<Finished> ranks;
  std::vector<double> losses;
};

/// Two programs, started in their normal ways.
struct Pair {
  LossesIn where;
  std::string single, distributed;

  [[nodiscard]] Trained train_single() const { return alone(single); }
  [[nodiscard]] Trained train_without_launcher() const { return alone(distributed); }

  [[nodiscard]] Trained train(int world_size, std::vector<std::string> arguments = {}) const {
    if (where == LossesIn::kRunFolder) arguments.emplace_back("--share-gpu");  // there may be fewer GPUs than ranks
    return with_losses(arguments, [&] { return run_on_ranks(world_size, distributed, arguments); });
  }

 private:
  [[nodiscard]] Trained alone(const std::string& program) const {
    std::vector<std::string> command{built_program(program)};
    return with_losses(command, [&] { return std::vector{run_program(command, no_rank())}; });
  }

  // Adds the option for a run folder to `arguments`, if there is one.
  [[nodiscard]] Trained with_losses(std::vector<std::string>& arguments, const auto& run) const {
    if (where == LossesIn::kOutput) {
      Trained trained{run(), {}};
      trained.losses = losses_in(trained.ranks[0].out);
      return trained;
    }
    const TemporaryFolder folder;
    arguments.insert(arguments.end(), {"--out", folder.path().string()});
    Trained trained{run(), {}};
    trained.losses = losses_below(folder.path());
    return trained;
  }
};

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

void check_pair(const std::string& single, const std::string& distributed, double tolerance, LossesIn where) {
  const Pair pair{where, single, distributed};
  const Trained baseline = pair.train_single();
  REQUIRE(baseline.ranks[0].exit_code == 0);
  REQUIRE(baseline.losses.size() >= 10);
  REQUIRE(baseline.losses.back() < 0.5 * baseline.losses.front());  // it learns

  CHECK(pair.train_without_launcher().losses == baseline.losses);
  CHECK(pair.train(1).losses == baseline.losses);

  const double allowed = tolerance * baseline.losses.front();
  for (const int world_size : {2, 3, 4}) {
    const Trained trained = pair.train(world_size);
    CAPTURE(world_size, trained.ranks[0].err);
    CHECK(trained.ranks[0].exit_code == 0);
    CHECK(largest_difference(trained.losses, baseline.losses) <= allowed);
    for (std::size_t rank = 1; rank < trained.ranks.size(); ++rank) CHECK(trained.ranks[rank].out == "");
  }
  const Trained other = pair.train(2, {"--seed", "2"});
  CHECK(other.losses.size() == baseline.losses.size());
  CHECK(largest_difference(other.losses, baseline.losses) > 1000 * allowed);

  for (const Finished& rank : pair.train(2, {"--batch-size", "7"}).ranks) {
    CHECK(rank.exit_code != 0);
    CHECK_THAT(rank.err, ContainsSubstring("--batch-size 7 ") && ContainsSubstring("2 ranks"));
  }
}

}  // namespace lockstep::test
