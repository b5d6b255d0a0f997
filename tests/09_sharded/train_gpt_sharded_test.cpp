// train_gpt_ddp and train_gpt_sharded, run as processes: both have the same losses and weights, and each resumes the
// other's checkpoints.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/training_job.hpp"

namespace fs = std::filesystem;
using namespace lockstep;
using test::check_equal, test::require_success;

namespace {

// A text, and the run on it.
class Job : public test::TrainingJob {
 public:
  // By a program of this build.
  [[nodiscard]] test::Finished train(const std::string& program, int world_size,
                                     const std::vector<std::string>& options,
                                     const test::LaunchSettings& launch = {}) const {
    return TrainingJob::train(test::built_program(program), world_size, options, launch);
  }
};

}  // namespace

TEST_CASE("train_gpt_sharded writes the losses and the checkpoint of train_gpt_ddp", "[sharded][pair][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  const Job expected;
  require_success(expected.train("train_gpt_ddp", world_size, {"--steps", "4"}));
  CHECK(expected.losses().size() == 4);
  for (const char* const stage : {"1", "2", "3"}) {
    INFO("stage " << stage << " on " << world_size << " ranks");
    const Job found;
    require_success(found.train("train_gpt_sharded", world_size, {"--steps", "4", "--zero", stage}));
    check_equal(found, expected);
  }
}

TEST_CASE("at two ranks the trainers agree over TCP, and with every option that both have",
          "[sharded][pair][multirank]") {
  struct Options {
    std::vector<std::string> more;
    std::vector<const char*> stages;  // of ZeRO
  };
  const Options test =
      GENERATE(Options{{"--backend", "ring", "--uneven"}, {"1", "2", "3"}},
               Options{{"--accumulation-steps", "3", "--activation-checkpointing"}, {"1"}},
               Options{{"--optimizer", "sgd", "--bf16", "--check-replicas", "1", "--activation-checkpointing"},
                       {"1", "2", "3"}});
  std::vector<std::string> options{"--steps", "4"};
  options.insert(options.end(), test.more.begin(), test.more.end());
  const Job expected;
  require_success(expected.train("train_gpt_ddp", 2, options));
  for (const char* const stage : test.stages) {
    INFO("stage " << stage << " with " << test.more.front());
    std::vector<std::string> own = options;
    own.insert(own.end(), {"--zero", stage});
    const Job found;
    require_success(found.train("train_gpt_sharded", 2, own));
    check_equal(found, expected);
  }
}

TEST_CASE("either trainer resumes a run, with any number of ranks", "[sharded][pair][multirank]") {
  // One program runs steps 1 and 2, another 3 and 4. If the number of ranks changes, so does the order of additions.
  struct Leg {
    std::string program;
    int world_size;
  };
  const auto [first, second] = GENERATE(std::pair{Leg{"train_gpt_ddp", 2}, Leg{"train_gpt_sharded", 2}},
                                        std::pair{Leg{"train_gpt_sharded", 2}, Leg{"train_gpt_ddp", 2}},
                                        std::pair{Leg{"train_gpt_sharded", 3}, Leg{"train_gpt_sharded", 2}});
  INFO(first.program << " on " << first.world_size << ", then " << second.program << " on " << second.world_size);
  const Job expected, found;
  require_success(expected.train("train_gpt_ddp", 2, {"--steps", "4"}));
  require_success(found.train(first.program, first.world_size, {"--steps", "4", "--stop-after", "2"}));
  require_success(found.train(second.program, second.world_size, {"--resume", found.run().string()}));
  if (first.world_size == second.world_size) return check_equal(found, expected);
  const std::vector<double> losses = found.losses();
  REQUIRE(losses.size() == expected.losses().size());
  for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == Approx(expected.losses()[i]).epsilon(1e-4));
}

TEST_CASE("train_gpt_sharded with --zero 0 trains as train_gpt_ddp does", "[sharded][pair][multirank]") {
  const Job expected, found;
  require_success(expected.train("train_gpt_ddp", 2, {"--steps", "4"}));
  require_success(found.train("train_gpt_sharded", 2, {"--steps", "4", "--zero", "0"}));
  check_equal(found, expected);
}

TEST_CASE("sharded ranks export the same initial weights as replicas", "[sharded][pair][multirank]") {
  const Job job;
  for (const std::string program : {"train_gpt_ddp", "train_gpt_sharded"})
    require_success(job.train(program, 3, {"--steps", "1", "--export-initial", job.path(program).string()}));
  const bool is_equal = read_file(job.path("train_gpt_ddp")) == read_file(job.path("train_gpt_sharded"));
  CHECK(is_equal);
}

TEST_CASE("a full disk on rank 0 ends a sharded job with that error, and the last checkpoint stays",
          "[sharded][inject][multirank]") {
  const Job job;
  const test::Finished finished =
      job.train("train_gpt_sharded", 3, {"--steps", "6", "--save-every", "2", "--no-async-save"},
                {.options = {"--inject", "rank=0 step=3 disk-full"}});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.err.substr(finished.err.find("first failure: ")),
             ContainsSubstring("  | ") && ContainsSubstring("No space left on device"));
  CHECK_THAT(finished.err, ContainsSubstring("rank 0 could not save"));
  CHECK(fs::exists(job.run() / "checkpoints" / "step_00000002"));
  CHECK_FALSE(fs::exists(job.run() / "checkpoints" / "step_00000004"));
}

TEST_CASE("sharded ranks refuse in one sentence the options that they do not have", "[sharded]") {
  const Job job;
  const auto refusal = [&](const std::vector<std::string>& options) {
    const test::Finished finished = job.train("train_gpt_sharded", 2, options);
    CHECK(finished.exit_code == 2);
    return finished.out + finished.err;
  };
  CHECK_THAT(refusal({"--zero", "4"}), ContainsSubstring("--zero 4: ZeRO has the stages 1, 2 and 3"));
  CHECK_THAT(refusal({"--no-prefetch"}), ContainsSubstring("--no-prefetch is for --zero 3"));
  CHECK_THAT(refusal({"--zero", "0", "--no-prefetch"}), ContainsSubstring("--no-prefetch is for --zero 3"));
  CHECK_THAT(refusal({"--zero", "2", "--uneven", "--accumulation-steps", "2"}),
             ContainsSubstring("--uneven with --accumulation-steps and --zero 2"));
  CHECK_THAT(refusal({"--no-sync"}), ContainsSubstring("--no-sync is for train_gpt_ddp"));
  CHECK_THAT(refusal({"--compress-gradients", "bf16"}), ContainsSubstring("--compress-gradients is for train_gpt_ddp"));
}
