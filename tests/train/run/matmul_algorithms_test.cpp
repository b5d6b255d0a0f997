// --matmul-algorithms: one rank decides for all, a checkpoint and a file keep it. No product is computed here.
#include "run/matmul_algorithms.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "kernels/algorithm_choices.hpp"
#include "run/shared_decisions.hpp"
#include "store/store.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

const std::string kHead = "lockstep matmul algorithms 1\nfakeBLAS 1 on a GPU\n";

class FakeTrial final : public kernels::AlgorithmTrial {
 public:
  explicit FakeTrial(std::vector<double> times) : times_(std::move(times)) {}
  void prepare() override {}
  [[nodiscard]] double milliseconds(std::size_t i) override {
    ++timed;
    return times_.at(i);
  }

  int timed = 0;

 private:
  std::vector<double> times_;
};

kernels::AlgorithmOffer offer_of(FakeTrial& trial, const std::string& product = "p") {
  return {.library = "fakeBLAS 1 on a GPU", .product = product, .algorithms = {"a0", "a1", "a2"}, .trial = &trial};
}

run::RunOptions options_with(const std::string& algorithms, const std::string& device = "cuda") {
  run::RunOptions options;
  options.device.name = device;
  options.device.matmul_algorithms = algorithms;
  return options;
}

run::SharedDecisions decisions_of(const comm::JobContext& job) {
  return {job.store, "test/", job.rank, job.limits.join};
}

/// Returns once all ranks have come here.
void meet(const comm::JobContext& job) {
  job.store->set(concat("here/", job.rank), "");
  for (int rank = 0; rank < job.world_size; ++rank)
    (void)job.store->get(concat("here/", rank), Deadline::after(job.limits.join));
}

std::vector<std::string> messages_of(const std::vector<test::RankOutcome>& outcomes) {
  std::vector<std::string> messages;
  for (const test::RankOutcome& outcome : outcomes) messages.push_back(outcome.message());
  return messages;
}

}  // namespace

TEST_CASE("the first rank that asks decides, and all ranks get its decision", "[run]") {
  std::atomic<int> decided{0};
  std::mutex mutex;
  std::vector<std::string> answers;
  const auto outcomes = test::run_ranks(4, [&](const comm::JobContext& job) {
    run::SharedDecisions decisions = decisions_of(job);
    const std::string answer = decisions.decide("what all need", [&] {
      ++decided;
      return concat("of rank ", job.rank);
    });
    const std::scoped_lock lock(mutex);
    answers.push_back(answer);
  });
  CHECK(messages_of(outcomes) == std::vector<std::string>(4));
  CHECK(decided == 1);
  REQUIRE(answers.size() == 4);
  CHECK_THAT(answers.front(), ContainsSubstring("of rank "));
  CHECK(answers == std::vector<std::string>(4, answers.front()));
}

TEST_CASE("ranks that need different things wait for nobody, and one of them can list all", "[run]") {
  std::vector<std::string> listed;
  const auto outcomes = test::run_ranks(3, [&](const comm::JobContext& job) {
    run::SharedDecisions decisions = decisions_of(job);
    const std::string name = concat("part ", job.rank);
    if (decisions.decide(name, [&] { return "x" + name; }) != "x" + name) throw Error("another decision");
    meet(job);
    if (job.rank != 1) return;
    for (const auto& [made, decision] : decisions.take_new()) listed.push_back(concat(made, ": ", decision));
    if (!decisions.take_new().empty()) throw Error("a decision is new twice");
  });
  CHECK(messages_of(outcomes) == std::vector<std::string>(3));
  std::ranges::sort(listed);
  CHECK(listed == std::vector<std::string>{"part 0: xpart 0", "part 1: xpart 1", "part 2: xpart 2"});
}

TEST_CASE("a rank that cannot decide is named on all ranks", "[run]") {
  const auto outcomes = test::run_ranks(3, [](const comm::JobContext& job) {
    run::SharedDecisions decisions = decisions_of(job);
    if (job.rank == 2) {
      try {
        (void)decisions.decide("it", []() -> std::string { throw Error("nothing fits"); });
      } catch (const Error&) {
        meet(job);
        if (!decisions.take_new().empty()) throw Error("a failure is listed");
        throw;
      }
    }
    meet(job);  // rank 2 has begun
    (void)decisions.decide("it", [] { return std::string("too late"); });
  });
  CHECK(messages_of(outcomes) ==
        std::vector<std::string>{"rank 2: nothing fits", "rank 2: nothing fits", "nothing fits"});
}

TEST_CASE("a rank that cannot decide for another reason is named, too", "[run]") {
  const auto outcomes = test::run_ranks(2, [](const comm::JobContext& job) {
    run::SharedDecisions decisions = decisions_of(job);
    if (job.rank == 1) {
      try {
        (void)decisions.decide("it", []() -> std::string { throw std::runtime_error("no memory"); });
      } catch (const std::runtime_error&) {
        meet(job);
        throw;
      }
    }
    meet(job);  // rank 1 has begun
    (void)decisions.decide("it", [] { return std::string("too late"); });
  });
  CHECK(outcomes[0].message() == "rank 1: no memory");
}

TEST_CASE("without --matmul-algorithms nobody chooses, and no checkpoint has more", "[run]") {
  const test::TemporaryFolder folder;
  run::MatmulAlgorithms algorithms(options_with("first"), run::Ranks(nullptr));
  CHECK(kernels::algorithm_chooser() == nullptr);
  CHECK_FALSE(algorithms.state(folder.path()).has_value());
}

TEST_CASE("the choices of a timed run are in its checkpoints and in a file for other runs", "[run]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / run::kAlgorithmsFile;
  FakeTrial trial({3.0, 1.0, 2.0});
  nlohmann::json saved;
  {
    run::MatmulAlgorithms timed(options_with("timed"), run::Ranks(nullptr));
    CHECK(timed.state(folder.path())->save().is_null());
    CHECK_FALSE(std::filesystem::exists(file));
    REQUIRE(kernels::algorithm_chooser() != nullptr);
    CHECK(kernels::algorithm_chooser()->choose(offer_of(trial)) == 1);
    saved = timed.state(folder.path())->save();
    CHECK(timed.state(folder / "removed")->save() == saved);  // with a warning
  }
  CHECK(kernels::algorithm_chooser() == nullptr);
  CHECK(saved == kHead + "a1 p\n");
  CHECK(read_file(file) == kHead + "a1 p\n");
  CHECK(trial.timed == 3);

  FakeTrial otherwise({1.0, 3.0, 2.0});
  {
    run::MatmulAlgorithms resumed(options_with("timed"), run::Ranks(nullptr));
    resumed.state(folder.path())->load(nullptr);
    resumed.state(folder.path())->load(saved);
    CHECK(kernels::algorithm_chooser()->choose(offer_of(otherwise)) == 1);
  }
  {
    run::MatmulAlgorithms given(options_with(file.string()), run::Ranks(nullptr));
    CHECK(kernels::algorithm_chooser()->choose(offer_of(otherwise)) == 1);
    CHECK(kernels::algorithm_chooser()->choose(offer_of(otherwise, "q")) == 0);  // which the table lacks
  }
  CHECK(otherwise.timed == 0);
  run::MatmulAlgorithms emulated(options_with("timed", "emulated"), run::Ranks(nullptr));
  CHECK(kernels::algorithm_chooser()->choose(offer_of(trial)) == 0);
  CHECK(trial.timed == 3);
  CHECK_THROWS_WITH(
      emulated.state(folder.path())->load("{}"),
      ContainsSubstring("the checkpoint's state.json, entry matmul_algorithms, line 1: the line has no end"));
}

TEST_CASE("all ranks take rank 0's file, and fail alike if it is damaged", "[run]") {
  const test::TemporaryFolder folder;
  write_file(folder / "sound.txt", kHead + "a2 p\n");
  write_file(folder / "damaged.txt", kHead + "a2 p\nmore\n");
  const auto table_of_each = [&](const std::string& name) {
    std::vector<std::string> tables(2);
    const auto outcomes = test::run_ranks(2, [&](comm::JobContext job) {
      const auto rank = static_cast<std::size_t>(job.rank);
      const std::string given = rank == 0 ? (folder / name).string() : "a path of another host";
      const std::filesystem::path own = folder / concat("rank_", rank);
      std::filesystem::create_directories(own);
      const auto group = ring::make_shared_memory_process_group(std::move(job));
      run::MatmulAlgorithms algorithms(options_with(given), run::Ranks(group.get()));
      tables[rank] = algorithms.state(own)->save().get<std::string>();
    });
    const std::vector<std::string> messages = messages_of(outcomes);
    return std::pair(tables, messages);
  };
  const auto [sound, none] = table_of_each("sound.txt");
  CHECK(sound == std::vector<std::string>(2, kHead + "a2 p\n"));
  CHECK(none == std::vector<std::string>(2));
  const auto [nothing, messages] = table_of_each("damaged.txt");
  for (const std::string& message : messages)
    CHECK_THAT(message, ContainsSubstring("--matmul-algorithms: ") && ContainsSubstring("damaged.txt, line 4: 'more'"));
}

TEST_CASE("two ranks of a timed run take the same algorithm, whatever each would have found", "[run]") {
  const test::TemporaryFolder folder;
  std::atomic<int> timed{0};
  std::vector<std::size_t> chosen(2);
  std::vector<std::string> tables(2);
  const auto outcomes = test::run_ranks(2, [&](const comm::JobContext& job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    // As MatmulAlgorithms does; its chooser is the process's, and here two ranks are threads of one.
    run::SharedDecisions decisions = decisions_of(job);
    kernels::AlgorithmChoices choices({.times = true, .agree = [&](const kernels::AlgorithmDecision& asked) {
                                         return decisions.decide(asked.product, asked.decide);
                                       }});
    FakeTrial trial(rank == 0 ? std::vector{3.0, 1.0, 2.0} : std::vector{3.0, 2.0, 1.0});
    chosen[rank] = choices.choose(offer_of(trial));
    timed += trial.timed;
    tables[rank] = choices.table().text();
  });
  CHECK(messages_of(outcomes) == std::vector<std::string>(2));
  CHECK(timed == 3);
  CHECK((chosen[0] == 1 || chosen[0] == 2));
  CHECK(chosen[0] == chosen[1]);
  CHECK(tables[0] == tables[1]);
}
