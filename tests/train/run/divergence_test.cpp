// Runs whose losses stop being numbers, and runs whose logs, reports and disks fail: what is kept, what is said, and
// how the training goes on.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/writer_lock.hpp"
#include "data/data_loader.hpp"
#include "data/tensor_dataset.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "run/metrics.hpp"
#include "run/option_parser.hpp"
#include "run/run_folder.hpp"
#include "run/training_loop.hpp"
#include "run/way_back.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/event_file.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

run::RunOptions defaults() {
  run::RunOptions options;
  options.task = "line";
  options.steps = 8;
  options.batch_size = 4;
  options.checkpoints.save_every = 2;
  options.checkpoints.async_save = false;
  options.output.validate_every = 2;
  return options;
}

/// How one start of the program ends.
struct Ended {
  fs::path run;
  std::int64_t step = 0;
  int exit_code = -1;  // -1: an exception
  std::string error, out, err;
};

/// Unusual behaviour of a training run.
struct Trouble {
  std::function<double(std::int64_t step)> validation = [](std::int64_t /*step*/) { return 1.0; };
  std::function<double(std::int64_t step, double loss)> training = [](std::int64_t /*step*/, double loss) {
    return loss;
  };
  std::function<void(const fs::path& run)> at_begin = [](const fs::path& /*run*/) {};
  std::function<void(const fs::path& run, std::int64_t step)> after_step = [](const fs::path& /*run*/,
                                                                              std::int64_t /*step*/) {};
};

Ended train(const run::RunOptions& options, const Trouble& trouble = {}) {
  Ended ended;
  std::ostringstream output;
  std::streambuf* const before = std::cout.rdbuf(output.rdbuf());
  const test::CapturedStderr err;
  try {
    const Tensor features = Tensor::zeros({20, 3}), targets = Tensor::zeros({20, 1});
    for (std::size_t i = 0; i < 60; ++i) features.span<float>()[i] = static_cast<float>(i % 7) / 7;
    const data::TensorDataset training(features, targets);
    data::RandomSampler sampler(20, options.seed);
    data::DataLoader loader(training, sampler, {.batch_size = options.batch_size});
    nn::Linear model(3, 1, options.seed);
    optim::AdamW optimizer({nn::all_parameters(model)});
    run::Run run(options, {.parameters = 4, .training_samples = 20, .validation_samples = 5, .wants_sample = true});
    ended.run = run.folder();
    run::TrainingLoop loop(run, model, optimizer, loader);
    trouble.at_begin(run.folder());
    loop.evaluate_with([&] { return run::Evaluation{.loss = trouble.validation(run.step())}; });
    for (const data::Batch& batch : loop) {
      optimizer.zero_grad();
      auto loss = autograd::mse_loss(model.forward(autograd::Variable(batch.inputs)), batch.targets);
      loss.backward();
      optimizer.step(loop.learning_rate());
      loop.end_step(trouble.training(run.step() + 1, loss.value().item()));
      trouble.after_step(run.folder(), run.step());
    }
    run.show_sample([] { return "a sample"; });
    ended.step = run.step();
    ended.exit_code = run.finish();
  } catch (const std::exception& error) {
    ended.error = error.what();
  }
  std::cout.rdbuf(before);
  ended.out = output.str();
  ended.err = err.text();
  return ended;
}

run::RunOptions in(const test::TemporaryFolder& folder) {
  run::RunOptions options = defaults();
  options.output.folder = folder.path();
  return options;
}

run::RunOptions resumed(const Ended& ended, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"train_line", "--resume", ended.run.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return run::parse_options(static_cast<int>(argv.size()), argv.data(), "Trains a line", defaults()).options;
}

std::vector<std::string> checkpoints(const Ended& ended) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run::checkpoints_of(ended.run)))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::int64_t> logged_steps(const Ended& ended) {
  std::vector<std::int64_t> steps;
  for (const run::StepMetrics& step : run::read_metrics(ended.run / "metrics.jsonl")) steps.push_back(step.step);
  return steps;
}

// Bytes of metrics.jsonl or of an event file.
std::uintmax_t smallest_log(const fs::path& run) {
  std::uintmax_t smallest = fs::file_size(run / "metrics.jsonl");
  for (const auto& entry : fs::directory_iterator(run))
    if (entry.path().filename().string().starts_with("events.")) smallest = std::min(smallest, entry.file_size());
  return smallest;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("after a validation loss that is not finite no checkpoint is written, and the run can be resumed", "[run]") {
  const double lost = GENERATE(kNan, kInfinity);
  const test::TemporaryFolder folder;
  const Ended diverged = train(in(folder), {.validation = [&](std::int64_t step) { return step > 4 ? lost : 1.0; }});
  CHECK(diverged.error.empty());
  CHECK(diverged.exit_code == 0);  // the report of a finished training fails nothing
  CHECK(checkpoints(diverged) == Names{"step_00000002", "step_00000004"});
  CHECK_THAT(diverged.err, ContainsSubstring("no checkpoint of step 8 is saved, because the validation loss is"));
  CHECK(diverged.out.find("a sample") == std::string::npos);  // of weights that are lost
  CHECK_THAT(read_file(diverged.run / "report.html"), ContainsSubstring("</html>"));
  CHECK_THAT(read_file(diverged.run / "metrics.jsonl"), ContainsSubstring("\"validation_loss\":null"));

  const Ended again = train(resumed(diverged));
  CHECK(again.error.empty());
  CHECK_THAT(again.out, ContainsSubstring("resumed at step 4") && ContainsSubstring("a sample"));
  CHECK(checkpoints(again) == Names{"step_00000006", "step_00000008"});
  CHECK(logged_steps(again) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("a checkpoint is written again once a validation loss is finite", "[run]") {
  const test::TemporaryFolder folder;
  const Ended ended = train(in(folder), {.validation = [](std::int64_t step) { return step == 4 ? kNan : 1.0; }});
  CHECK(ended.exit_code == 0);
  CHECK(checkpoints(ended) == Names{"step_00000006", "step_00000008"});
}

TEST_CASE("a loss that is not finite names the last checkpoint with finite losses and the command that resumes",
          "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  const auto at = [](std::int64_t lost_step) {
    return [lost_step](std::int64_t step, double loss) { return step == lost_step ? kNan : loss; };
  };
  const auto path = [](const Ended& ended, const char* name) {
    return (run::checkpoints_of(ended.run) / name).string();
  };
  SECTION("the newest was followed by a finite loss") {
    const Ended ended = train(options, {.training = at(6)});
    CHECK_THAT(ended.error, ContainsSubstring("rank 0: the loss is not a number in step 6;") &&
                                ContainsSubstring("the last checkpoint with finite losses is " +
                                                  path(ended, "step_00000004") + ": ") &&
                                ContainsSubstring(" --resume " + path(ended, "step_00000004") +
                                                  " --learning-rate 0.001 continues from it"));
  }
  SECTION("the newest is the one whose loss is lost") {
    options.output.validate_every = 0;
    const Ended ended = train(options, {.training = at(5)});
    CHECK_THAT(ended.error, ContainsSubstring(path(ended, "step_00000002") + ":"));
  }
  SECTION("the newest has a finite validation loss") {
    const Ended ended = train(options, {.training = at(5)});
    CHECK_THAT(ended.error, ContainsSubstring(path(ended, "step_00000004") + ":"));
  }
  SECTION("there is none") {
    const Ended ended = train(options, {.training = at(1)});
    CHECK_THAT(ended.error, ContainsSubstring("there is no checkpoint from before that: start a new run"));
  }
}

TEST_CASE("the command of several ranks starts several ranks, and a shell reads it", "[run]") {
  const test::TemporaryFolder folder;
  checkpoint::CheckpointFolder(folder / "my run/checkpoints").save(2, {}, nlohmann::json::object());
  run::Divergence divergence{.run_folder = folder / "my run", .first_step = 0, .step = 5};
  run::RunOptions options = defaults();
  const auto path = (folder / "my run/checkpoints/step_00000002").string();
  CHECK_THAT(run::way_back(divergence, options), ContainsSubstring(" --resume '" + path + "' --learning-rate"));
  divergence.world_size = divergence.local_world_size = 3;
  CHECK_THAT(run::way_back(divergence, options), ContainsSubstring(": lockstep launch --nproc 3 -- "));
  options.layout = " --tensor 3";
  CHECK_THAT(run::way_back(divergence, options), ContainsSubstring(" --tensor 3 --resume '" + path + "' --learning"));
  divergence.local_world_size = 1;
  CHECK_THAT(run::way_back(divergence, options), ContainsSubstring("launched on the same hosts as before"));
  divergence.run_folder = "/elsewhere/run";
  CHECK_THAT(run::way_back(divergence, options), ContainsSubstring("/elsewhere/run on the host of rank 0"));
  divergence.run_folder = folder.path() / "my run";
  divergence.step = 2;
  CHECK_FALSE(run::last_sound_checkpoint(divergence, options.checkpoints).has_value());
  // Not of this part of the run, which has saved nothing.
  divergence = {.run_folder = folder / "my run", .first_step = 1, .step = 3};
  options.checkpoints.save_every = 100;
  CHECK_FALSE(run::last_sound_checkpoint(divergence, options.checkpoints).has_value());
}

TEST_CASE("a run goes on from the checkpoint that is named, and what lay behind it is kept aside", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  options.checkpoints.keep_last = 9;
  const Ended whole = train(options);
  Ended named = whole;
  const bool is_inside = GENERATE(true, false);
  named.run = run::checkpoints_of(whole.run) / (is_inside ? "step_00000004/" : "step_00000004");
  const run::RunOptions back = resumed(named, {"--learning-rate", "1e-4", "--steps", "6"});
  CHECK(back.resume == whole.run);
  CHECK(back.learning_rate.highest == 1e-4);
  const Ended again = train(back);
  CHECK(again.error.empty());
  CHECK_THAT(again.out, ContainsSubstring("resumed at step 4"));
  CHECK(checkpoints(whole) ==
        Names{"aside_step_00000006", "aside_step_00000008", "step_00000002", "step_00000004", "step_00000006"});
  CHECK(logged_steps(whole) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  // And back again, to the future that was given up.
  named.run = run::checkpoints_of(whole.run) / "aside_step_00000008";
  CHECK_THAT(train(resumed(named, {"--steps", "8"})).out, ContainsSubstring("resumed at step 8"));
  fs::copy(run::checkpoints_of(whole.run) / "step_00000004", folder / "step_00000004", fs::copy_options::recursive);
  named.run = folder / "step_00000004";
  CHECK_THROWS_WITH(resumed(named), ContainsSubstring("is a checkpoint, but not in the folder 'checkpoints' of a run"));
}

TEST_CASE("a newest checkpoint that cannot be read ends a resume, and loses nothing", "[run]") {
  const test::TemporaryFolder folder;
  const Ended whole = train(in(folder));
  const fs::path manifest = run::checkpoints_of(whole.run) / "step_00000008/manifest.json";
  fs::rename(manifest, folder / "manifest.json");
  fs::create_symlink("/proc/self/mem", manifest);  // opens, and gives EIO
  const Ended failed = train(resumed(whole));
  CHECK_THAT(failed.error, ContainsSubstring("Input/output error") && ContainsSubstring("name an older one"));
  fs::rename(folder / "manifest.json", manifest);
  CHECK(checkpoints(whole) == Names{"step_00000006", "step_00000008"});
  CHECK_THAT(train(resumed(whole)).out, ContainsSubstring("nothing left to train: all 8 steps were done before"));
}

TEST_CASE("a finished run that is resumed says the loss it had", "[run]") {
  const test::TemporaryFolder folder;
  const Ended whole = train(in(folder));
  const double loss = run::read_metrics(whole.run / "metrics.jsonl").back().loss;
  const std::string trace = read_file(whole.run / "trace_rank0.json"), summary = read_file(whole.run / "rank_0.json");
  const Ended again = train(resumed(whole));
  CHECK_THAT(again.out, ContainsSubstring(concat(", loss ", std::to_string(loss).substr(0, 5))) &&
                            ContainsSubstring("validation loss 1.0000"));
  CHECK(again.out.find("loss 0.0000") == std::string::npos);
  CHECK(read_file(whole.run / "trace_rank0.json") == trace);  // of those that did the steps
  CHECK(read_file(whole.run / "rank_0.json") == summary);
  fs::remove(whole.run / "metrics.jsonl");
  CHECK_THAT(train(resumed(whole)).out, ContainsSubstring("were done before\n"));  // no loss is known
}

TEST_CASE("a log of another program's, of a crash or of nothing is read as far as it goes when a run is resumed",
          "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  options.stop_after = 4;
  const Ended stopped = train(options);
  const fs::path log = stopped.run / "metrics.jsonl";
  const std::string lines = read_file(log);
  const std::size_t second = lines.find('\n') + 1;
  const std::string damage = GENERATE(as<std::string>(), "\n\n", "{\"step\": 2, \"lo\n", std::string(3, '\0') + "\n",
                                      "null\n", "{\"step\":null}\n", "[NaN]\n", "\xFF\xFE\n");
  write_file(log, lines.substr(0, second) + damage + lines.substr(second));
  const Ended again = train(resumed(stopped));
  CHECK(again.error.empty());
  CHECK(again.exit_code == 0);
  CHECK(logged_steps(again) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("logs, summaries and reports that cannot be written or read end no training", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  const std::string name = GENERATE("metrics.jsonl", "rank_0.json", "trace_rank0.json", "report.html");
  const Ended ended = train(options, {.at_begin = [&](const fs::path& run) {
                              fs::remove(run / name);
                              fs::create_directories(run / name / "in the way");
                            }});
  CHECK(ended.error.empty());
  CHECK(ended.exit_code == 0);
  CHECK(ended.step == 8);
  CHECK_THAT(ended.err, ContainsSubstring("warning: ") && ContainsSubstring(name));
  CHECK(checkpoints(ended) == Names{"step_00000006", "step_00000008"});
  if (name == "metrics.jsonl")  // the report's curves and times come from memory
    CHECK_THAT(read_file(ended.run / "report.html"), ContainsSubstring("Rank 0, mean of steps 1 to 8"));
}

TEST_CASE("a log that cannot be written for a while has the later steps on lines of their own", "[run]") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "metrics.jsonl";
  run::MetricsFile file(path, 0);
  run::StepMetrics metrics;
  const auto write = [&](std::int64_t step) {
    metrics.step = step;
    file.write(metrics);
  };
  const test::CapturedStderr err;
  fs::create_directory(path);
  write(1);
  write(2);
  fs::remove(path);
  write_file(path, "{\"step\": 2, \"ep");  // as far as a full disk let it
  write(3);
  write(4);
  const std::string warnings = err.text();
  CHECK_THAT(warnings, ContainsSubstring("the run goes on, but steps are missing in its log"));
  CHECK(std::count(warnings.begin(), warnings.end(), '\n') == 1);
  std::vector<std::int64_t> steps;
  for (const run::StepMetrics& step : run::read_metrics(path)) steps.push_back(step.step);
  CHECK(steps == std::vector<std::int64_t>{3, 4});
}

TEST_CASE("event files have the numbers of metrics.jsonl, also of a run that goes on, and after a full disk",
          "[run][tracker]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  options.output.tensorboard = true;
  options.stop_after = 5;
  const Ended stopped = train(options);
  CHECK(stopped.error.empty());
  fs::remove_all(run::checkpoints_of(stopped.run) / "step_00000005");  // step 5 is done again, as after a kill
  std::optional<test::FileSizeLimit> full;
  const Ended again = train(resumed(stopped), {.after_step = [&](const fs::path& run, std::int64_t step) {
                              full.reset();
                              if (step == 7) full.emplace(smallest_log(run));  // until step 8
                            }});
  CHECK(again.error.empty());
  CHECK(again.exit_code == 0);
  CHECK(logged_steps(again) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 8});
  const test::EventScalars shown = test::read_event_files(again.run);
  CHECK(shown.size() == 7);
  for (const run::StepMetrics& step : run::read_metrics(again.run / "metrics.jsonl")) {
    test::EventScalars::mapped_type expected;
    for (const auto& [name, value] : run::scalars_of(step)) expected[name] = static_cast<float>(value);
    CHECK(shown.at(step.step) == expected);
    CHECK(expected.at("loss") == static_cast<float>(step.loss));
    CHECK(expected.contains("validation_loss") == (step.step % 2 == 0));
  }
  for (const char* const name : {"learning_rate", "samples_per_s", "step_ms"}) CHECK(shown.at(8).contains(name));
  CHECK_THAT(again.err,
             ContainsSubstring("steps are missing in its log") && ContainsSubstring("values of step 7 are not logged"));
}

TEST_CASE("options that are torn or missing are read from the newest checkpoint", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  options.seed = 5;
  options.stop_after = 4;
  const Ended stopped = train(options);
  write_file(stopped.run / "options.json", "{\"batch_size\": 4, \"se");
  const test::CapturedStderr err;
  CHECK(resumed(stopped).seed == 5);
  CHECK(run::task_of(stopped.run) == "line");
  CHECK_THAT(err.text(), ContainsSubstring("options.json is damaged; the run's options are read from its newest"));
  fs::remove(stopped.run / "options.json");
  CHECK(resumed(stopped).seed == 5);
  CHECK_THAT(err.text(), ContainsSubstring("options.json is missing; the run's options are read from its newest"));
}

TEST_CASE("a run that another process trains is not resumed, and nothing of it is changed", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  options.stop_after = 5;  // one step after the last regular checkpoint
  const Ended stopped = train(options);
  const auto text_of = [&](const char* name) { return read_file(stopped.run / name); };
  const std::string log = text_of("metrics.jsonl"), saved = text_of("options.json");
  {
    const checkpoint::WriterLock other(run::checkpoints_of(stopped.run));
    Ended earlier;
    earlier.run = run::checkpoints_of(stopped.run) / "step_00000004";
    const Ended refused = train(resumed(earlier, {"--steps", "20"}));
    CHECK_THAT(refused.error, ContainsSubstring("another process saves its checkpoints there"));
    CHECK(text_of("metrics.jsonl") == log);
    CHECK(text_of("options.json") == saved);
  }
  CHECK_THAT(train(resumed(stopped)).out, ContainsSubstring("resumed at step 5"));
}

TEST_CASE("a run whose options cannot be written leaves no folder", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  const auto make = [&] {
    const run::Run run(options, {.parameters = 4, .training_samples = 20, .files = {{"no/such folder", "x"}}});
  };
  CHECK_THROWS_AS(make(), IoError);
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a run whose initial weights cannot be exported says so, and leaves no folder", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  options.output.export_initial = folder / "no folder/weights.safetensors";
  const Ended ended = train(options);
  CHECK_THAT(ended.error, ContainsSubstring("--export-initial " + options.output.export_initial.string()) &&
                              ContainsSubstring("No such file or directory"));
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a run's folder that is removed or moved while it trains is made again, and can be resumed", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  options.output.tensorboard = true;
  const bool is_moved = GENERATE(false, true);
  const std::int64_t first_after = GENERATE(2, 6);  // before the first save, and after it
  const fs::path elsewhere = folder / "elsewhere";
  const Ended ended = train(options, {.after_step = [&](const fs::path& run, std::int64_t step) {
                              // Nobody else saves there after the next save.
                              if (step == 7) CHECK_THROWS_AS(checkpoint::WriterLock(run::checkpoints_of(run)), IoError);
                              if (step != first_after) return;  // it is not logged yet
                              if (is_moved)
                                fs::rename(run, elsewhere);
                              else
                                fs::remove_all(run);
                            }});
  CHECK(ended.error.empty());
  CHECK(ended.exit_code == 0);
  CHECK_THAT(ended.err, ContainsSubstring(concat("the run's folder ", ended.run.string(), " was removed or moved")) &&
                            ContainsSubstring(concat("from step ", first_after, " on")));
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  CHECK(logged_steps(ended).front() == first_after);
  CHECK(logged_steps(ended).back() == 8);
  CHECK(test::read_event_files(ended.run).begin()->first == first_after);
  CHECK(checkpoints(ended) == Names{"step_00000006", "step_00000008"});
  CHECK_THAT(train(resumed(ended, {"--steps", "9"})).out, ContainsSubstring("resumed at step 8"));
  if (is_moved) CHECK(run::read_metrics(elsewhere / "metrics.jsonl").back().step == first_after - 1);
}

TEST_CASE("a run's folder that cannot be made again ends the run at its next checkpoint, not before", "[run]") {
  const test::TemporaryFolder folder;
  run::RunOptions options = in(folder);
  options.checkpoints.save_every = 6;
  std::int64_t last_step = 0;
  fs::path blocked;
  const Ended ended = train(options, {.after_step = [&](const fs::path& run, std::int64_t step) {
                              last_step = step;
                              if (step != 1) return;
                              fs::remove_all(run);
                              write_file(run, "in the way");
                              blocked = run;
                            }});
  CHECK(last_step == 6);
  CHECK_THAT(ended.error, ContainsSubstring("cannot make the folder " + (blocked / "checkpoints").string()));
  CHECK_THAT(ended.err, ContainsSubstring("was removed and cannot be made again"));
  CHECK(ended.err.find("cannot be made again") == ended.err.rfind("cannot be made again"));
}

TEST_CASE("options.json that is removed while a run trains is written again", "[run]") {
  const test::TemporaryFolder folder;
  const Ended ended = train(in(folder), {.after_step = [&](const fs::path& run, std::int64_t step) {
                              if (step == 3) fs::remove(run / "options.json");
                            }});
  CHECK_THAT(ended.err, ContainsSubstring("options.json was removed; it is written again"));
  CHECK(fs::exists(ended.run / "options.json"));
  CHECK(logged_steps(ended).front() == 1);
}
