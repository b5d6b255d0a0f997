// sampler_table and data_parallel_threads: what they print that does not depend on the machine.
#include <map>
#include <set>
#include <sstream>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;

namespace {

test::Finished run_lesson(std::vector<std::string> command) {
  command.front() = test::built_program(command.front());
  return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
}

// The rows of one of the two tables: rank, then the samples of all epochs, '*' as printed.
std::vector<std::vector<std::string>> dealt(const std::string& output, const std::string& title) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(output.substr(output.find(title)));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.rfind("rank ", 0) != 0) continue;
    std::istringstream words(line.substr(5));
    std::vector<std::string> row;
    for (std::string word; words >> word;) row.push_back(word);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

TEST_CASE("sampler_table deals every sample once per epoch and marks what is repeated", "[ddp][chapter]") {
  const test::Finished finished =
      run_lesson({"sampler_table", "--samples", "10", "--world-size", "4", "--epochs", "3"});
  REQUIRE(finished.exit_code == 0);
  const auto with = dealt(finished.out, "set_epoch(epoch) before every epoch");
  const auto without = dealt(finished.out, "set_epoch forgotten");
  REQUIRE(with.size() == 4);
  REQUIRE(without.size() == 4);
  for (const auto& rows : {with, without}) {
    for (std::size_t epoch = 0; epoch < 3; ++epoch) {
      std::multiset<std::string> samples;
      for (const auto& row : rows) {
        REQUIRE(row.size() == 1 + 3 * 3 + 1);
        for (std::size_t k = 0; k < 3; ++k) samples.insert(row[1 + epoch * 3 + k]);
      }
      std::set<std::string> unmarked;
      int marked = 0;
      for (const std::string& sample : samples) {
        if (sample.back() == '*')
          ++marked;
        else
          CHECK(unmarked.insert(sample).second);
      }
      CHECK(marked == 2);
      CHECK(unmarked.size() == 10);
    }
  }
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(std::stoi(with[rank].back()) > 3);  // other samples in other epochs
    CHECK(without[rank].back() == "3");       // the same three forever
  }
}

TEST_CASE("sampler_table says what is left out, and when nothing is left", "[ddp][chapter]") {
  const test::Finished finished = run_lesson({"sampler_table", "--samples", "10", "--world-size", "3", "--drop-last"});
  CHECK_THAT(finished.out, ContainsSubstring("each rank is dealt 3 an epoch; 1 is left out"));
  const test::Finished none = run_lesson({"sampler_table", "--samples", "2", "--world-size", "3", "--drop-last"});
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.err, ContainsSubstring("leave none for each of 3 ranks"));
}

TEST_CASE("data_parallel_threads counts what passes device 0 and trains as the processes do",
          "[ddp][chapter][multirank]") {
  const test::Finished finished =
      run_lesson({"data_parallel_threads", "--nproc", "4", "--steps", "2", "--batch-size", "4"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  std::map<std::string, std::vector<double>> rows;  // bytes, of the model, ms, speed, loss
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string name : {"device 0 in the middle", "ring over TCP", "shared memory"}) {
      const std::size_t at = line.find(name);
      if (at == std::string::npos) continue;
      std::istringstream words(line.substr(at + name.size()));
      for (double number; words >> number;) rows[name].push_back(number);
    }
  }
  REQUIRE(rows.size() == 3);
  for (const auto& [name, numbers] : rows) REQUIRE(numbers.size() == 5);
  const double model_bytes = 4.0 * 842496;
  CHECK(rows["device 0 in the middle"][0] == 3 * model_bytes);
  // Gaps between views are sent too, and buckets that P does not divide are cut unevenly: at most 0.1 % more.
  CHECK(rows["ring over TCP"][0] >= 1.5 * model_bytes);
  CHECK(rows["ring over TCP"][0] <= 1.5 * model_bytes * 1.001);
  // The same sums in another order.
  CHECK(std::abs(rows["ring over TCP"][4] - rows["device 0 in the middle"][4]) <= 2e-4);
  CHECK(std::abs(rows["shared memory"][4] - rows["device 0 in the middle"][4]) <= 2e-4);
}

TEST_CASE("data_parallel_threads refuses a batch that does not divide", "[ddp][chapter]") {
  const test::Finished finished = run_lesson({"data_parallel_threads", "--nproc", "3"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("--batch-size 16 cannot be divided evenly among 3 replicas"));
}
