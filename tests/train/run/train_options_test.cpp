#include "run/train_options.hpp"

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "device/memory_limit.hpp"
#include "device/storage.hpp"
#include "run/option_list.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::run;
namespace fs = std::filesystem;

namespace {

struct Answer {
  ParsedOptions<TrainOptions> parsed;
  std::string out;
  std::string err;
};

/// Parses with both output streams caught.
Answer parse(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  std::streambuf* const old_out = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const old_err = std::cerr.rdbuf(err.rdbuf());
  std::vector<const char*> argv{"train_gpt_single"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  Answer answer;
  try {
    answer.parsed = parse_options(static_cast<int>(argv.size()), argv.data(), "Trains a GPT", TrainOptions());
  } catch (const Error& error) {
    answer.err = error.what();
    answer.parsed.exit_code = 99;
  }
  std::cout.rdbuf(old_out);
  std::cerr.rdbuf(old_err);
  answer.out = out.str();
  answer.err += err.str();
  return answer;
}

TrainOptions options_of(const std::vector<std::string>& arguments) {
  const Answer answer = parse(arguments);
  INFO(answer.err);
  REQUIRE_FALSE(answer.parsed.exit_code.has_value());
  return answer.parsed.options;
}

/// A run folder with these options and something that looks like a checkpoint.
fs::path make_run(const fs::path& out, const TrainOptions& options) {
  const fs::path run = make_run_folder(out, options.model.name);
  write_file(run / "options.json", dump_json(to_json(options)));
  fs::create_directories(checkpoints_of(run) / "step_00000005");
  return run;
}

}  // namespace

TEST_CASE("without options the tiny model is trained on the course text", "[run]") {
  const TrainOptions options = options_of({});
  CHECK(options.model.name == "tiny");
  CHECK(options.data.path.empty());
  CHECK(options.batch_size == nn::GptConfig::named("tiny").batch_size);
  CHECK(options.output.folder == "runs");
  CHECK_FALSE(options.resume.has_value());
}

TEST_CASE("options arrive where they belong", "[run]") {
  const test::TemporaryFolder folder;
  const std::string text = (folder / "text.txt").string();
  write_file(text, "any text");
  const TrainOptions options =
      options_of({"--model", "small", "--steps", "7", "--batch-size=12", "--seed", "5", "--clip", "0", "--dropout",
                  "0.25", "--learning-rate", "1e-3", "--out", "some where", "--data", text});
  CHECK(options.model.config(0).name == "small");
  CHECK(options.model.config(0).dropout == 0.25);
  CHECK(options.steps == 7);
  CHECK(options.batch_size == 12);
  CHECK(options.seed == 5);
  CHECK(std::isinf(options.max_gradient_norm()));
  CHECK(options.output.folder == "some where");
  CHECK(options.data.path == text);
  CHECK(options.schedule(3).at(2) == Approx(1e-3));  // a warm-up of 50 steps becomes one of 3
}

TEST_CASE("help lists every option with its default", "[run]") {
  const Answer answer = parse({"--help"});
  CHECK(answer.parsed.exit_code == 0);
  for (const char* option : {"--data",
                             "--resume",
                             "--steps",
                             "--epochs",
                             "--model",
                             "--batch-size",
                             "--seed",
                             "--out",
                             "--save-every",
                             "--validate-every",
                             "--keep-last",
                             "--async-save",
                             "--optimizer",
                             "--momentum",
                             "--nesterov",
                             "--schedule",
                             "--reference-batch-size",
                             "--learning-rate-scaling",
                             "--learning-rate",
                             "--warmup-steps",
                             "--min-learning-rate",
                             "--weight-decay",
                             "--clip",
                             "--dropout",
                             "--bf16",
                             "--activation-checkpointing",
                             "--device",
                             "--share-gpu",
                             "--stop-after",
                             "--prompt",
                             "--sample-tokens",
                             "--compare",
                             "--export-initial",
                             "--log-batches",
                             "--tensorboard",
                             "--validation-data",
                             "--tokenizer",
                             "--vocabulary-size",
                             "--num-workers"}) {
    CHECK_THAT(answer.out, ContainsSubstring(option));
  }
  CHECK_THAT(answer.out, ContainsSubstring("runs"));
  CHECK_THAT(answer.out, ContainsSubstring("tiny"));
}

TEST_CASE("a wrong option or value is answered with what was meant", "[run]") {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::vector<Case> cases{{{"--step", "5"}, "did you mean --steps?"},
                                {{"--model", "tinny"}, "did you mean tiny?"},
                                {{"--steps", "many"}, "'many' is not a whole number of at least 1"},
                                {{"--steps", "0"}, "'0' is not a whole number of at least 1"},
                                {{"--dropout", "1"}, "'1' is not a number from 0 to 0.99"},
                                {{"--learning-rate", "nan"}, "'nan' is not a number of at least 0"},
                                {{"--tokenizer", "byte"}, "did you mean bytes?"},
                                {{"--device", "gpu"}, "accepted are cpu, cuda"},
                                {{"--tokenizer", "/nowhere/a.model"}, "there is no readable file '/nowhere/a.model'"},
                                {{"--validation-data", "/nowhere/v"}, "there is no readable file '/nowhere/v'"},
                                {{"--data", "/nowhere/text"}, "there is no readable file '/nowhere/text'"}};
  for (const Case& wrong : cases) {
    const Answer answer = parse(wrong.arguments);
    CHECK(answer.parsed.exit_code == 2);
    CHECK_THAT(answer.err, ContainsSubstring(wrong.message));
    CHECK(std::count(answer.err.begin(), answer.err.end(), '\n') == 1);
  }
}

TEST_CASE("the length of the training is said once", "[run]") {
  CHECK_THAT(parse({"--steps", "5", "--epochs", "1"}).err, ContainsSubstring("give one of them"));
}

TEST_CASE("a device this build lacks is an error, never another device", "[run]") {
  const char* const other = accelerator_type() == DeviceType::kCuda ? "emulated" : "cuda";
  const char* const argv[] = {"train_gpt_single", "--device", other};
  CHECK_THROWS_AS(parse_options(3, argv, "Trains a GPT", TrainOptions()), UnavailableError);
}

TEST_CASE("the device that a launcher has chosen is the default of --device", "[run]") {
  std::ostringstream out;
  std::streambuf* const old_out = std::cout.rdbuf(out.rdbuf());
  ::setenv("LOCKSTEP_DEVICE", "emulated", 1);
  const char* const argv[] = {"train_gpt_single", "--help"};
  const int exit_code = run_training(2, argv, [](const TrainOptions&) { return 1; });
  ::unsetenv("LOCKSTEP_DEVICE");
  std::cout.rdbuf(old_out);
  CHECK(exit_code == 0);
  CHECK_THAT(out.str(), ContainsSubstring("--device NAME=emulated"));
}

TEST_CASE("a resumed run goes on with its own options", "[run]") {
  const test::TemporaryFolder folder;
  TrainOptions then = options_of({"--steps", "10", "--seed", "7", "--out", folder.path().string()});
  const fs::path run = make_run(folder.path(), then);

  const TrainOptions named = options_of({"--resume", run.string(), "--stop-after", "8"});
  CHECK(named.resume == run);
  CHECK(named.steps == 10);
  CHECK(named.seed == 7);
  CHECK(named.stop_after == 8);

  const TrainOptions latest = options_of({"--out", folder.path().string(), "--resume", "--steps", "20"});
  CHECK(latest.resume == run);
  CHECK(latest.steps == 20);

  CHECK(options_of({"--out", folder.path().string(), "--resume", "auto"}).resume == run);
  CHECK_FALSE(options_of({"--out", (folder.path() / "empty").string(), "--resume", "auto"}).resume);
}

TEST_CASE("a resumed run cannot change what has formed its weights", "[run]") {
  const test::TemporaryFolder folder;
  const fs::path run = make_run(folder.path(), options_of({"--seed", "7"}));
  const Answer answer = parse({"--resume", run.string(), "--seed", "8"});
  CHECK(answer.parsed.exit_code == 99);
  CHECK_THAT(answer.err, ContainsSubstring("was trained with --seed 7"));
  const std::string text = (folder / "text.txt").string();
  write_file(text, "any text");
  CHECK(options_of({"--resume", run.string(), "--data", text}).data.path ==
        text);  // content is compared when it is read
  CHECK_THAT(parse({"--resume", "--out", (folder.path() / "empty").string()}).err,
             ContainsSubstring("no run with a checkpoint"));
}

TEST_CASE("a folder that is no run cannot be resumed, and the error says what can", "[run]") {
  const test::TemporaryFolder folder;
  const std::string absent = (folder / "absent").string(), runs = (folder / "runs").string();
  CHECK_THAT(parse({"--resume", absent}).err,
             ContainsSubstring(absent + " does not exist; name a run's folder, or one of its checkpoints"));
  fs::create_directory(runs);
  CHECK_THAT(parse({"--resume", runs}).err, ContainsSubstring("it has no options.json; name a run's folder, or"));
  const fs::path run = make_run(runs, options_of({}));
  CHECK_THAT(
      parse({"--resume", runs}).err,
      ContainsSubstring(runs + " is no run's folder: it has no options.json; its latest run is " + run.string()));
}

TEST_CASE("the options that divide the work are those of each start, and part of the command that goes on", "[run]") {
  struct Layout {
    std::int64_t ranks = 1;
    std::string order = "first";
    bool is_split = false, is_loud = false;
  };
  const auto list = [](Layout& layout) {
    return OptionList{{.field = &layout.ranks, .name = "--ranks", .kind = OptionKind::kLayout},
                      {.field = &layout.order, .name = "--order", .kind = OptionKind::kLayout},
                      {.field = &layout.is_split, .name = "--split", .kind = OptionKind::kLayout},
                      {.field = &layout.is_loud, .name = "--loud", .kind = OptionKind::kThisTime}};
  };
  Layout usual, given{.ranks = 4, .order = "last", .is_split = true, .is_loud = true};
  CHECK(layout_words(list(usual), list(usual)).empty());
  CHECK(layout_words(list(given), list(usual)) == " --ranks 4 --order last --split");
  CHECK(values_of(list(given)).empty());
}

TEST_CASE("runs to compare with are named one after the other, and must be runs", "[run]") {
  const test::TemporaryFolder folder;
  for (const char* name : {"a", "b"}) {
    fs::create_directories(folder / name);
    write_file(folder / name / "metrics.jsonl", "");
  }
  const std::string a = (folder / "a").string(), b = (folder / "b").string();
  CHECK(options_of({"--compare", a, "--compare", b, "--steps", "3"}).output.compare == std::vector<fs::path>{a, b});
  CHECK(options_of({"--compare", a, b, "--steps", "3"}).output.compare == std::vector<fs::path>{a, b});
  const std::string nothing = (folder / "nothing").string();
  CHECK_THAT(parse({"--compare", nothing}).err, ContainsSubstring("it has no metrics.jsonl"));
  const fs::path run = make_run(folder / "runs", options_of({}));
  CHECK(options_of({"--compare", (folder / "runs").string()}).output.compare == std::vector<fs::path>{run});
}

TEST_CASE("a resumed run keeps its optimizer", "[run]") {
  const test::TemporaryFolder folder;
  const fs::path run = make_run(folder.path(), options_of({"--optimizer", "sgd", "--momentum", "0.5"}));
  CHECK(options_of({"--resume", run.string()}).optimizer.name == "sgd");
  CHECK(options_of({"--resume", run.string(), "--momentum", "0.5"}).optimizer.momentum == 0.5);
  CHECK_THAT(parse({"--resume", run.string(), "--optimizer", "adam"}).err,
             ContainsSubstring("was trained with --optimizer sgd"));
  CHECK_THAT(parse({"--resume", run.string(), "--momentum", "0.9"}).err,
             ContainsSubstring("was trained with --momentum 0.5"));
}

TEST_CASE("precision and memory are float32 and everything kept, unless asked for", "[run]") {
  CHECK_FALSE(options_of({}).model.bf16);
  CHECK_FALSE(options_of({}).model.config(0).activation_checkpointing);
  const TrainOptions options = options_of({"--bf16", "--activation-checkpointing"});
  CHECK(options.model.bf16);
  CHECK(options.model.config(0).activation_checkpointing);
  const TrainOptions read = options_from_json(to_json(options));
  CHECK(read.model.bf16);
  CHECK(read.model.activation_checkpointing);
}

TEST_CASE("options survive options.json", "[run]") {
  const TrainOptions options =
      options_of({"--learning-rate", "0.0003", "--prompt", "ROMEO:", "--epochs", "2", "--optimizer", "sgd",
                  "--schedule", "linear", "--keep-last", "7", "--no-async-save", "--windows", "random"});
  CHECK(to_json(options_from_json(to_json(options))) == to_json(options));
  CHECK_THROWS_AS(options_from_json(nlohmann::json::object()), FormatError);
}

TEST_CASE("paths and prompts of any bytes survive options.json, which is UTF-8", "[run]") {
  TrainOptions options;
  options.data.path = "/data/f\xFCr.txt";
  options.text.prompt = "caf\xE9 \xFF";
  options.output.folder = "l\xE4ufe";
  const std::string text = dump_json(to_json(options));
  const TrainOptions read = options_from_json(parse_json(text));
  CHECK(read.data.path == options.data.path);
  CHECK(read.text.prompt == options.text.prompt);
  CHECK(read.output.folder == options.output.folder);
  CHECK(to_json(options).at("data") == nlohmann::json{{"hex", "2f646174612f66fc722e747874"}});
  options.text.prompt = "caf\xC3\xA9";
  CHECK(to_json(options).at("prompt") == "caf\xC3\xA9");
  nlohmann::json wrong = to_json(options);
  for (const char* digits : {"6", "6g", "666"}) {
    wrong["prompt"] = {{"hex", digits}};
    CHECK_THROWS_AS(options_from_json(wrong), FormatError);
  }
  wrong["prompt"] = nlohmann::json::object();
  CHECK_THROWS_AS(options_from_json(wrong), FormatError);
}

TEST_CASE("each option is declared once", "[run]") {
  TrainOptions options;
  std::set<std::string> names;
  std::set<const void*> fields;
  for (const OptionDeclaration& declared : list_options(options)) {
    CHECK(names.insert(declared.json_name()).second);
    CHECK(std::visit([&](const auto* field) { return fields.insert(field).second; }, declared.field));
    CHECK(declared.help.empty() != declared.is_on_command_line());
  }
}

TEST_CASE("the options of a run of November 2026 are still read, each into its own field", "[run]") {
  const auto saved =
      parse_json(R"({"accumulation_steps": 2, "activation_checkpointing": true, "async_save": false, "backend": "star",
  "batch_size": 6, "bf16": true, "bind_cores": true, "check_replicas": 13, "clip": 0.5,
  "compress_gradients": "bf16", "data": "/data/text.txt", "data_fingerprint": "4e96", "device": "cuda:1",
  "dropout": 0.1, "epochs": 1, "keep_last": 3, "learning_rate": 0.01, "learning_rate_scaling": "sqrt",
  "log_batches": true, "min_learning_rate": 0.001, "model": "small", "momentum": 0.5, "nesterov": true,
  "no_sync": true, "num_workers": 2, "optimizer": "sgd", "out": "outs", "prompt": "A", "reference_batch_size": 3,
  "sample_tokens": 0, "save_every": 11, "schedule": "linear", "seed": 9, "steps": 77,
  "tokenizer": "sentencepiece:300", "tokenizer_checksum": "5e2d", "uneven": true, "validate_every": 12,
  "validation_data": "/data/other.txt", "vocabulary_size": 300, "warmup_steps": 7, "weight_decay": 0.2})");
  nlohmann::json expected = saved;
  expected["windows"] = "fixed";  // added later
  expected["tensorboard"] = false;
  expected["matmul_algorithms"] = "first";
  CHECK(to_json(options_from_json(saved)) == expected);
  const nlohmann::json defaults = to_json(TrainOptions());
  for (const auto& [name, value] : saved.items()) {
    INFO(name);
    CHECK(defaults.at(name) != value);  // else it could be lost unnoticed
  }
}

TEST_CASE("a memory limit is for one start of the program, and is a number of bytes", "[run]") {
  CHECK(options_of({}).device.memory_limit.empty());
  const TrainOptions limited = options_of({"--memory-limit", "1.5GiB"});
  CHECK(limited.device.memory_limit == "1.5GiB");
  CHECK_FALSE(to_json(limited).contains("memory_limit"));
  const Answer wrong = parse({"--memory-limit", "200M"});
  CHECK(wrong.parsed.exit_code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("'200M' is not a number of bytes: write 200MiB, 1.5GiB or 250MB"));
  CHECK_THAT(parse({"--help"}).out, ContainsSubstring("--memory-limit BYTES"));
  limit_memory(limited);
  CHECK_THROWS_AS(Storage::allocate(std::size_t{2} << 30), OutOfMemoryError);
  set_memory_limit({}, 0);
  limit_memory(options_of({}));  // leaves it as it is
  CHECK(Storage::allocate(64) != nullptr);
}

TEST_CASE("epochs decide the number of steps, whole batches only", "[run]") {
  TrainOptions options = options_of({"--epochs", "2", "--batch-size", "10"});
  CHECK(options.total_steps(59) == 10);
  CHECK_THROWS_AS(options.total_steps(9), FormatError);
  options.epochs = 0;
  CHECK(options.total_steps(59) == options.steps);
}

TEST_CASE("numbers whose product is too large are refused, not multiplied", "[run]") {
  TrainOptions options = options_of({"--batch-size", "10"});
  options.epochs = std::int64_t{1} << 62;
  CHECK_THROWS_WITH(options.total_steps(40), ContainsSubstring("too many to count"));
  options.epochs = 1;
  options.uneven = true;
  options.batch_size = INT64_MAX;
  CHECK(options.total_steps(59) == 1);
  options.batch_size = 12;
  options.accumulation_steps = std::int64_t{1} << 62;  // times 4 is 2^64, whose low 64 bits are 0
  CHECK_THROWS_AS(options.require_divisible_batch(4), UsageError);
}

TEST_CASE("the batch must divide among the ranks", "[run]") {
  const TrainOptions options = options_of({"--batch-size", "10"});
  CHECK_NOTHROW(options.require_divisible_batch(5));
  CHECK_THROWS_WITH(options.require_divisible_batch(4), ContainsSubstring("use a multiple of 4"));
}
