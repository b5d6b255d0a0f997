// The number of ranks must not change the data: which samples make up which batch, the validation loss, and the
// tokenizer that all ranks and a later run share.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

using Arguments = std::vector<std::string>;

// `samples` windows of tiny's 128 tokens, and one token more: lines that differ.
std::string text_of_samples(int samples) {
  std::string text;
  for (int line = 0; text.size() <= static_cast<std::size_t>(samples) * 128; ++line) {
    text += concat("line ", line * 7919 % 1000, " of the ring\n");
  }
  return text.substr(0, static_cast<std::size_t>(samples) * 128 + 1);
}

// Trains on the texts in `folder`.
test::Finished train(const fs::path& folder, int world_size, const Arguments& more) {
  Arguments command{test::built_program("lockstep"),
                    "launch",
                    "--nproc",
                    std::to_string(world_size),
                    "--",
                    test::built_program("train_gpt_ddp"),
                    "--out",
                    (folder / "runs").string()};
  command.insert(command.end(), more.begin(), more.end());
  return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
}

fs::path latest(const fs::path& folder) { return run::latest_run(folder / "runs").value(); }

// Each step's global batch, in order of sample numbers.
std::vector<std::vector<std::int64_t>> batches_of(const fs::path& run) {
  std::vector<std::vector<std::int64_t>> batches;
  for (const run::StepMetrics& step : run::read_metrics(run / "metrics.jsonl")) batches.push_back(step.sample_ids);
  return batches;
}

Arguments usual_options(const fs::path& folder, int training_samples, int validation_samples) {
  write_file(folder / "training.txt", text_of_samples(training_samples));
  write_file(folder / "validation.txt", text_of_samples(validation_samples));
  return {"--data",
          (folder / "training.txt").string(),
          "--validation-data",
          (folder / "validation.txt").string(),
          "--batch-size",
          "12",
          "--sample-tokens",
          "0",
          "--save-every",
          "0",
          "--log-batches"};
}

Arguments joined(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("training stopped at 2 ranks and resumed at 1, 3 and 4 goes through the batches of an uninterrupted run",
          "[ddp][resume]") {
  const test::TemporaryFolder folder;
  // 47 samples: three batches an epoch and a rest; step 5 is in the middle of the second epoch.
  const Arguments options = joined(usual_options(folder.path(), 47, 3), {"--steps", "8", "--validate-every", "0"});
  REQUIRE(train(folder.path(), 2, options).exit_code == 0);
  const auto whole = batches_of(latest(folder.path()));
  REQUIRE(whole.size() == 8);
  std::vector<std::int64_t> epoch;
  for (std::size_t step = 0; step < 3; ++step) epoch.insert(epoch.end(), whole[step].begin(), whole[step].end());
  std::ranges::sort(epoch);
  CHECK(std::ranges::adjacent_find(epoch) == epoch.end());
  CHECK(epoch.size() == 36);

  const test::TemporaryFolder parts;
  const Arguments first =
      joined(usual_options(parts.path(), 47, 3), {"--steps", "8", "--validate-every", "0", "--stop-after", "5"});
  REQUIRE(train(parts.path(), 2, first).exit_code == 0);
  const fs::path stopped = latest(parts.path());
  for (const int world_size : {1, 3, 4}) {
    const fs::path copy = parts / concat("copy_", world_size);
    fs::copy(stopped, copy, fs::copy_options::recursive);
    const test::Finished resumed = train(parts.path(), world_size, {"--resume", copy.string()});
    INFO(world_size << " ranks: " << resumed.err);
    REQUIRE(resumed.exit_code == 0);
    CHECK(batches_of(copy) == whole);
  }
  const test::Finished refused = train(parts.path(), 5, {"--resume", stopped.string()});
  CHECK(refused.exit_code != 0);
  CHECK_THAT(refused.err,
             ContainsSubstring("--batch-size 12 cannot be divided evenly among 5 ranks: a resumed run keeps "
                               "its batch, so use another number of ranks"));
}

TEST_CASE("a batch with less than a sample for some micro-batch is refused before a loader is made", "[ddp][data]") {
  const test::TemporaryFolder folder;
  const auto refused = [&](int world_size, const Arguments& arguments) {
    const test::Finished finished = train(folder.path(), world_size, arguments);
    CHECK(finished.exit_code != 0);
    CHECK(fs::is_empty(folder.path()));
    return finished.err;
  };
  CHECK_THAT(refused(2, {"--model", "tiny", "--batch-size", "1"}),
             ContainsSubstring("--batch-size 1 cannot be divided evenly among 2 ranks: use a multiple of 2"));
  CHECK_THAT(refused(2, {"--model", "tiny", "--batch-size", "4", "--accumulation-steps", "3"}),
             ContainsSubstring("--batch-size 4 cannot be divided evenly among 2 ranks with 3 --accumulation-steps: use "
                               "a multiple of 6"));
}

TEST_CASE("the validation loss does not depend on the rank count, even if ranks have fewer samples or none",
          "[ddp][evaluation]") {
  const int validation_samples = GENERATE(1, 3, 13);
  std::vector<double> losses;
  for (const int world_size : {1, 2, 3, 4}) {
    const test::TemporaryFolder folder;
    // A learning rate of 0 keeps the initial weights, which are the same at every world size.
    const Arguments options = joined(usual_options(folder.path(), 12, validation_samples),
                                     {"--steps", "1", "--learning-rate", "0", "--min-learning-rate", "0"});
    const test::Finished finished = train(folder.path(), world_size, options);
    INFO(world_size << " ranks: " << finished.err);
    REQUIRE(finished.exit_code == 0);
    losses.push_back(run::read_metrics(latest(folder.path()) / "metrics.jsonl").back().validation_loss.value_or(NAN));
  }
  // Each batch's mean is a float32 near 5.5, rounded to 2^-22 = 2.4e-7 of it or less, and its terms may be added in
  // another order: a few such roundings. A sample counted twice, or not at all, moves the loss by 1e-3 and more.
  for (const double loss : losses) CHECK(std::abs(loss - losses.front()) < 2e-6);
}

TEST_CASE("ranks share the tokenizer that rank 0 learns, and a resumed run and generate use the same",
          "[ddp][tokenizer]") {
  const test::TemporaryFolder folder;
  const Arguments options = joined(usual_options(folder.path(), 60, 20),
                                   {"--steps", "3", "--stop-after", "2", "--tokenizer", "sentencepiece:280"});
  const test::Finished finished = train(folder.path(), 3, options);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("vocabulary 280") && ContainsSubstring("SentencePiece with 280 pieces"));
  const fs::path run = latest(folder.path());
  const std::string model = read_file(run / "tokenizer.model");
  const nlohmann::json recorded = parse_json(read_file(run / "options.json"));
  CHECK(recorded.at("tokenizer_checksum") == sha256_hex(model));
  CHECK(recorded.at("vocabulary_size") == 280);

  const test::Finished resumed = train(folder.path(), 2, {"--resume", run.string()});
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK(read_file(run / "tokenizer.model") == model);
  const Arguments generate{test::built_program("generate"), run.string(), "--prompt", "line 7 of", "--tokens", "3"};
  CHECK(test::run_program(generate).out.starts_with("line 7 of"));

  std::string changed = model;
  changed[changed.size() / 2] ^= 1;
  write_file(run / "tokenizer.model", changed);
  const test::Finished refused = train(folder.path(), 2, {"--resume", run.string(), "--steps", "4"});
  CHECK(refused.exit_code != 0);
  CHECK_THAT(refused.err, ContainsSubstring(sha256_hex(changed)) && ContainsSubstring("tokenizer.model"));
  CHECK_THAT(test::run_program(generate).err, ContainsSubstring(sha256_hex(model)));
}

TEST_CASE("a tokenizer that rank 0 cannot learn ends all ranks with its reason", "[ddp][tokenizer][fault]") {
  const test::TemporaryFolder folder;
  const Arguments options = joined(usual_options(folder.path(), 20, 3), {"--tokenizer", "sentencepiece:9000"});
  const test::Finished finished = train(folder.path(), 3, options);
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err, ContainsSubstring("cannot learn 9000 pieces") && ContainsSubstring("training.txt"));
}

TEST_CASE("data that have changed since a run began are refused when it is resumed", "[ddp][resume]") {
  const test::TemporaryFolder folder;
  const Arguments options = joined(usual_options(folder.path(), 47, 3), {"--steps", "4", "--stop-after", "1"});
  REQUIRE(train(folder.path(), 1, options).exit_code == 0);
  std::string text = read_file(folder / "training.txt");
  text[100] ^= 1;
  write_file(folder / "training.txt", text);
  const test::Finished refused = train(folder.path(), 1, {"--resume", latest(folder.path()).string()});
  CHECK(refused.exit_code != 0);
  CHECK_THAT(refused.err, ContainsSubstring("was trained on data of another content than"));
}
