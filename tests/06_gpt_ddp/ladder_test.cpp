// The rungs of data parallelism: a Reducer alone, and all three beside each other.
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "06_gpt_ddp/ladder/reducer.hpp"
#include "base/text.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

using namespace lockstep;

namespace {

// Notes what it is asked for: "+0" for a launch, "-0" for a wait.
class Notes final : public ddp::BucketAverager {
 public:
  void launch(std::size_t bucket) override { text += concat("+", bucket); }
  void wait(std::size_t bucket) override { text += concat("-", bucket); }
  std::string take() { return std::exchange(text, ""); }

 private:
  std::string text;
};

struct Rung {
  int all_reduces = 0;
  std::string loss, weights;
};

// By name, what `ddp_ladder` prints.
std::map<std::string, Rung> climb(int world_size, const std::vector<std::string>& more = {},
                                  const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  std::vector<std::string> command{
      test::built_program("ddp_ladder"), "--nproc", std::to_string(world_size), "--steps", "3", "--batch-size", "12"};
  command.insert(command.end(), more.begin(), more.end());
  std::vector<std::pair<std::string, std::string>> environment{
      {"OMP_NUM_THREADS", "1"}, {"RANK", ""}, {"WORLD_SIZE", ""}, {"LOCKSTEP_STORE", ""}};
  environment.insert(environment.end(), variables.begin(), variables.end());
  const test::Finished finished = test::run_program(command, environment);
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  std::map<std::string, Rung> rungs;
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string name : {"naive_ddp", "Reducer", "DistributedDataParallel"}) {
      const std::size_t at = line.find(name);
      if (at == std::string::npos) continue;
      std::istringstream words(line.substr(at + name.size()));
      double exposed_ms = 0, step_ms = 0;
      words >> rungs[name].all_reduces >> exposed_ms >> step_ms >> rungs[name].loss >> rungs[name].weights;
      CHECK(words);
      CHECK((exposed_ms >= 0 && step_ms > 0));
    }
  }
  return rungs;
}

void check_equal_weights(const std::map<std::string, Rung>& rungs) {
  REQUIRE(rungs.size() == 3);
  std::set<std::string> weights, losses;
  for (const auto& [name, rung] : rungs) {
    CHECK(rung.weights.size() == 16);
    weights.insert(rung.weights);
    losses.insert(rung.loss);
  }
  CHECK(weights.size() == 1);
  CHECK(losses.size() == 1);
}

}  // namespace

TEST_CASE("a Reducer launches buckets in their order, each as soon as it can leave", "[ddp][ladder]") {
  Notes notes;
  ddp::Reducer reducer({{5, 4}, {3, 2}, {1, 0}}, notes);
  for (int step = 0; step < 3; ++step) {
    std::vector<std::string> after;
    for (const std::size_t parameter : {5, 1, 4, 0, 3, 2}) {
      reducer.on_gradient_ready(parameter);
      after.push_back(notes.take());
    }
    CHECK(after == std::vector<std::string>{"", "", "+0", "", "", "+1+2"});
    reducer.on_backward_end();
    CHECK(notes.take() == "-0-1-2");
  }
}

TEST_CASE("what a Reducer waits for in vain leaves at the end of backward", "[ddp][ladder]") {
  Notes notes;
  ddp::Reducer reducer({{2}, {1}, {0}, {}}, notes);
  reducer.on_gradient_ready(1);
  CHECK(notes.take().empty());
  reducer.on_backward_end();
  CHECK(notes.take() == "+0+1+2+3-0-1-2-3");
  for (const std::size_t parameter : {2, 1, 0}) reducer.on_gradient_ready(parameter);
  CHECK(notes.take() == "+0+1+2+3");  // a bucket that waits for nothing follows the one before it
  reducer.on_backward_end();
  CHECK(notes.take() == "-0-1-2-3");
  reducer.on_backward_end();  // a step without data
  CHECK(notes.take() == "+0+1+2+3-0-1-2-3");
}

TEST_CASE("all three rungs train to the same bits, in shared memory and over TCP", "[ddp][ladder][multirank]") {
  for (const int world_size : {1, 2, 3, 4}) check_equal_weights(climb(world_size));
  // In the ring the order of additions depends on the chunk; with two ranks a + b is b + a.
  check_equal_weights(climb(2, {}, {{"LOCKSTEP_TRANSPORT", "tcp"}}));
}

TEST_CASE("buckets save all-reduces, and their size decides how many", "[ddp][ladder][multirank]") {
  const auto rungs = climb(2), small = climb(2, {"--bucket-kib", "64"});
  CHECK(rungs.at("naive_ddp").all_reduces == 52);  // one for each parameter of tiny
  CHECK(rungs.at("Reducer").all_reduces == 4);
  CHECK(rungs.at("DistributedDataParallel").all_reduces == 5);  // and one that counts faults
  CHECK(small.at("naive_ddp").all_reduces == 52);
  CHECK(small.at("Reducer").all_reduces > 8);
  CHECK(small.at("Reducer").weights == rungs.at("Reducer").weights);
}
