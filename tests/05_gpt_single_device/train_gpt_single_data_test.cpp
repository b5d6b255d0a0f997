// train_gpt_single on every kind of data: token files, random tokens, texts with subwords; and the answers if data,
// tokenizer and model do not go together.
#include <filesystem>
#include <fstream>

#include "base/file.hpp"
#include "data/sentence_piece.hpp"
#include "data/text.hpp"
#include "data/token_file.hpp"
#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

std::string sample_text() {
  std::string text;
  for (int i = 0; i < 200; ++i) text += concat("She sells sea shells by the sea shore, number ", i % 7, ".\n");
  return text;
}

/// A folder with data files, and what the trainer says on them.
class TrainerOnFiles {
 public:
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] fs::path latest() const { return run::latest_run(folder_ / "runs").value(); }

  [[nodiscard]] test::Finished run(const std::vector<std::string>& more) const {
    std::vector<std::string> command{test::built_program("train_gpt_single"), "--out", path("runs").string()};
    command.insert(command.end(), more.begin(), more.end());
    return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  }

  [[nodiscard]] test::Finished train(const fs::path& data, const std::vector<std::string>& more) const {
    std::vector<std::string> options{"--data", data.string(), "--batch-size", "4", "--steps", "3"};
    options.insert(options.end(), more.begin(), more.end());
    return run(options);
  }

  [[nodiscard]] std::vector<double> losses() const {
    std::vector<double> losses;
    for (const run::StepMetrics& step : run::read_metrics(latest() / "metrics.jsonl")) losses.push_back(step.loss);
    losses.push_back(run::read_metrics(latest() / "metrics.jsonl").back().validation_loss.value_or(-1));
    return losses;
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a text and its bytes in a token file train the same model, and any number of workers does", "[05][data]") {
  const TrainerOnFiles text, tokens, workers;
  write_file(text.path("text"), sample_text());
  REQUIRE(text.train(text.path("text"), {}).exit_code == 0);
  data::write_token_file(tokens.path("t.bin"), data::encode_bytes(sample_text()));
  const test::Finished from_tokens = tokens.train(tokens.path("t.bin"), {"--tokenizer", "bytes"});
  INFO(from_tokens.err);
  REQUIRE(from_tokens.exit_code == 0);
  CHECK(tokens.losses() == text.losses());
  REQUIRE(workers.train(tokens.path("t.bin"), {"--tokenizer", "bytes", "--num-workers", "3"}).exit_code == 0);
  CHECK(workers.losses() == text.losses());
}

TEST_CASE("the model's vocabulary follows the tokenizer, and generate writes text with it", "[05][data]") {
  const TrainerOnFiles trainer;
  write_file(trainer.path("text"), sample_text());
  const test::Finished run = trainer.train(trainer.path("text"), {"--tokenizer", "sentencepiece:300"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out, ContainsSubstring("vocabulary 300"));
  CHECK_THAT(read_file(trainer.latest() / "report.html"), ContainsSubstring("SentencePiece with 300 pieces"));
  // Before anything is learned each of 300 pieces is about equally likely, ln 300 = 5.70.
  CHECK(trainer.losses().front() == Approx(5.70).margin(0.3));
  const auto text_of = [](const fs::path& folder) {
    return test::run_program({test::built_program("generate"), folder.string(), "--prompt", "She \xC3\xA9\xFF",
                              "--tokens", "4", "--temperature", "0"},
                             {{"OMP_NUM_THREADS", "1"}})
        .out;
  };
  const std::string text = text_of(trainer.latest());
  CHECK(text.starts_with("She \xC3\xA9\xFF"));
  CHECK(text.size() > 8);
  CHECK(text_of(run::checkpoints_of(trainer.latest()) / "step_00000003") == text);
  fs::remove(trainer.latest() / "tokenizer.model");
  const test::Finished refused = test::run_program({test::built_program("generate"), trainer.latest().string()});
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.err, ContainsSubstring("no tokenizer.model in"));
}

TEST_CASE("token files without a tokenizer, and random tokens, train and write numbers", "[05][data]") {
  const TrainerOnFiles trainer;
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 4000; ++i) ids.push_back(i * i % 2000);
  data::write_token_file(trainer.path("t.bin"), ids);
  const test::Finished run =
      trainer.train(trainer.path("t.bin"), {"--vocabulary-size", "2000", "--sample-tokens", "3", "--prompt", "4 9"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out, ContainsSubstring("The model writes:\n\n4 9 "));
  const test::Finished random = trainer.train("random", {"--sample-tokens", "2", "--validate-every", "0"});
  INFO(random.err);
  CHECK(random.exit_code == 0);
  CHECK_THAT(random.out, ContainsSubstring("random tokens"));
}

TEST_CASE("data, tokenizer and model that do not fit are answered with both numbers and what to do", "[05][data]") {
  const TrainerOnFiles trainer;
  write_file(trainer.path("text"), sample_text());
  std::vector<std::int32_t> ids(3000, 999);
  data::write_token_file(trainer.path("t.bin"), ids);
  const auto answer = [](const test::Finished& finished) {
    CHECK(finished.exit_code != 0);
    CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    return finished.err;
  };
  const test::Finished too_small =
      trainer.train(trainer.path("text"), {"--tokenizer", "sentencepiece:300", "--vocabulary-size", "280"});
  CHECK(too_small.exit_code == 2);
  CHECK_THAT(answer(too_small), ContainsSubstring("--vocabulary-size 280 is too small for the 300 tokens") &&
                                    ContainsSubstring("use 300"));
  CHECK_THAT(answer(trainer.train(trainer.path("t.bin"), {})),
             ContainsSubstring("t.bin has the token 999 at offset ") && ContainsSubstring("vocabulary has 256"));
  CHECK_THAT(answer(trainer.train(trainer.path("t.bin"), {"--prompt", "The cat"})), ContainsSubstring("'The'"));
  CHECK_THAT(answer(trainer.train(trainer.path("t.bin"), {"--prompt", "300"})),
             ContainsSubstring("--prompt has the token 300"));
  CHECK_THAT(answer(trainer.train(trainer.path("t.bin"), {"--tokenizer", "sentencepiece"})),
             ContainsSubstring("is not a text that a tokenizer could learn from"));
  fs::resize_file(trainer.path("t.bin"), 3000);
  CHECK_THAT(answer(trainer.train(trainer.path("t.bin"), {})), ContainsSubstring("it was cut off"));
}

TEST_CASE("a token file cut short in training ends it with the reason, and no crash", "[05][data]") {
  const TrainerOnFiles trainer;
  data::write_token_file(trainer.path("t.bin"), data::encode_bytes(sample_text()));
  test::Subprocess process({test::built_program("train_gpt_single"), "--out", trainer.path("runs").string(), "--data",
                            trainer.path("t.bin").string(), "--tokenizer", "bytes", "--batch-size", "2", "--steps",
                            "1000000", "--validate-every", "0", "--num-workers", "2"},
                           {{"OMP_NUM_THREADS", "1"}});
  REQUIRE(process.wait_for_output("step       1/1000000"));
  fs::resize_file(trainer.path("t.bin"), 2000);
  const test::Finished finished = process.wait();
  CHECK(finished.exit_code == 1);
  CHECK_THAT(finished.err, ContainsSubstring("t.bin has changed since it was opened") && ContainsSubstring("2000 now"));
}

TEST_CASE("a resumed run keeps its tokenizer and data, and refuses others", "[05][data]") {
  const TrainerOnFiles trainer;
  write_file(trainer.path("text"), sample_text());
  REQUIRE(trainer.train(trainer.path("text"), {"--tokenizer", "sentencepiece:300", "--stop-after", "2"}).exit_code ==
          0);
  const std::string run = trainer.latest().string();
  CHECK_THAT(trainer.run({"--resume", run, "--tokenizer", "bytes"}).err,
             ContainsSubstring("was trained with --tokenizer sentencepiece:300"));
  CHECK_THAT(trainer.run({"--resume", run, "--vocabulary-size", "400"}).err,
             ContainsSubstring("was trained with --vocabulary-size 300"));
  write_file(trainer.path("text"), sample_text() + "more\n");
  CHECK_THAT(trainer.run({"--resume", run}).err, ContainsSubstring("was trained on data of another content than"));
  write_file(trainer.path("text"), sample_text());
  fs::rename(trainer.path("text"), trainer.path("moved"));
  CHECK_THAT(trainer.run({"--resume", run}).err,
             ContainsSubstring("which is not there; if it was moved, say where it is with --data"));
  const test::Finished resumed = trainer.run({"--resume", run, "--data", trainer.path("moved").string()});
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
}

TEST_CASE("token files are known by every byte, wherever they are and whenever they were written", "[05][data]") {
  const TrainerOnFiles trainer;
  const std::string text = sample_text();
  data::write_token_file(trainer.path("t.bin"), data::encode_bytes(text));
  REQUIRE(trainer.train(trainer.path("t.bin"), {"--tokenizer", "bytes", "--stop-after", "1"}).exit_code == 0);
  const fs::path run = trainer.latest();
  fs::rename(trainer.path("t.bin"), trainer.path("moved.bin"));
  fs::last_write_time(trainer.path("moved.bin"), fs::file_time_type{});
  const std::vector<std::string> moved{"--resume", run.string(), "--data", trainer.path("moved.bin").string()};
  const auto with = [&](const std::vector<std::string>& more) {
    auto all = moved;
    all.insert(all.end(), more.begin(), more.end());
    return trainer.run(all);
  };
  CHECK(with({"--stop-after", "2"}).exit_code == 0);
  // Runs of earlier versions have recorded a sample of the bytes.
  std::string options = read_file(run / "options.json");
  const std::size_t at = options.find("xxh3 ");
  REQUIRE(at != std::string::npos);
  options.replace(at, options.find('"', at) - at, data::sampled_fingerprint(trainer.path("moved.bin")));
  write_file(run / "options.json", options);
  CHECK(with({}).exit_code == 0);
  std::string other = text;
  other[other.size() / 2] ^= 1;
  data::write_token_file(trainer.path("moved.bin"), data::encode_bytes(other));
  CHECK_THAT(with({}).err, ContainsSubstring("was trained on data of another content than"));
}

TEST_CASE("compressed files, texts in UTF-16 and pointers to files are not trained on", "[05][data]") {
  const TrainerOnFiles trainer;
  const auto refusal = [&](const std::string& name, const std::string& bytes) {
    write_file(trainer.path(name), bytes);
    const test::Finished finished = trainer.train(trainer.path(name), {});
    CHECK(finished.exit_code == 1);
    CHECK_FALSE(fs::exists(trainer.path("runs")));
    return finished.err;
  };
  std::string wide = "\xFF\xFE";
  for (const char c : sample_text()) wide += {c, '\0'};
  CHECK_THAT(refusal("a.gz", "\x1F\x8B\x08" + sample_text()), ContainsSubstring("is compressed with gzip: unpack it"));
  CHECK_THAT(refusal("a.txt", wide), ContainsSubstring("is a text in UTF-16: make it UTF-8 first (iconv"));
  CHECK_THAT(refusal("b.txt", wide.substr(2)), ContainsSubstring("is a text in UTF-16LE"));
  CHECK_THAT(refusal("c.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n"),
             ContainsSubstring("is a Git LFS pointer"));
  CHECK_THAT(refusal("d.bin", "\x1F\x8B\x08" + sample_text()), ContainsSubstring("is compressed with gzip"));
  CHECK_THAT(refusal("e.bin", "<!DOCTYPE html><html>"), ContainsSubstring("is an HTML page"));
}

TEST_CASE("paths, prompts and folders of any bytes train, are resumed and write", "[05][data]") {
  const TrainerOnFiles trainer;
  const fs::path strange = trainer.path(
      "d\xFC"
      "nn");
  fs::create_directories(strange);
  write_file(strange / "t\xE9xt", sample_text());
  const std::vector<std::string> options{"--out",   (strange / "runs").string(), "--prompt",
                                         "caf\xE9", "--sample-tokens",           "2"};
  auto begun = options;
  begun.insert(begun.end(), {"--stop-after", "1"});
  const test::Finished first = trainer.train(strange / "t\xE9xt", begun);
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  const fs::path run = run::latest_run(strange / "runs").value();
  const test::Finished second = trainer.run({"--resume", run.string()});
  INFO(second.err);
  CHECK(second.exit_code == 0);
  CHECK_THAT(second.out, ContainsSubstring("The model writes:"));
  const test::Finished written = test::run_program({test::built_program("generate"), run.string(), "--tokens", "2"});
  INFO(written.err);
  CHECK(written.exit_code == 0);
  CHECK(written.out.starts_with("caf\xE9"));
}

TEST_CASE("random windows train on other samples in each epoch, and a resumed run goes on with them", "[05][data]") {
  const TrainerOnFiles fixed, random, stopped;
  const std::vector<std::string> options{"--steps", "24", "--sample-tokens", "0"};  // 66 samples: 16 steps an epoch
  const auto train = [&](const TrainerOnFiles& trainer, std::vector<std::string> more) {
    write_file(trainer.path("text"), sample_text());
    more.insert(more.end(), options.begin(), options.end());
    const test::Finished finished = trainer.train(trainer.path("text"), more);
    INFO(finished.err);
    CHECK(finished.exit_code == 0);
  };
  train(fixed, {});
  train(random, {"--windows", "random"});
  train(stopped, {"--windows", "random", "--stop-after", "20"});
  CHECK(stopped.run({"--resume", stopped.latest().string()}).exit_code == 0);
  CHECK(random.losses() != fixed.losses());
  CHECK(stopped.losses() == random.losses());
  CHECK_THAT(random.train(random.path("text"), {"--windows", "rnadom"}).err, ContainsSubstring("--windows"));
}
