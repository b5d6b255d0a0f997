#include "run/train_options.hpp"

#include <malloc.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "data/corpus.hpp"
#include "nn/init.hpp"
#include "run/comparison.hpp"
#include "run/optimization.hpp"
#include "run/option_checks.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescription =
    "Trains a GPT on a text and leaves a run folder: checkpoints, metrics.jsonl, report.html.";

std::string program_name(const char* const* argv) {
  return environment::get("LOCKSTEP_PROGRAM").value_or(fs::path(argv[0]).filename().string());
}

// --help shows what `options` holds, so the struct's initial values are the only defaults.
void bind_data_options(CommandLine& app, TrainOptions& options) {
  app.add_option("--data", options.data_path,
                 "Text to train on, or a file of tokens (.bin), or random (the course text if left out)")
      .check(readable_file_or(data::kRandomData))
      .type_name("FILE");
  app.add_option("--validation-data", options.validation_data,
                 "Text or file of tokens to validate with (the last tenth of --data if left out)")
      .check(readable_file())
      .type_name("FILE");
  app.add_option("--tokenizer", options.tokenizer,
                 "bytes, sentencepiece or sentencepiece:PIECES (learned from the text), FILE.model, or numbers "
                 "(bytes of a text, numbers of other data if left out)")
      .check(tokenizer_spec())
      .type_name("NAME");
  app.add_option("--vocabulary-size", options.vocabulary_size,
                 "Tokens that the model knows (what model and tokenizer need if left out)")
      .check(whole_number(1, INT32_MAX))
      .without_default();
  app.add_option("--num-workers", options.num_workers, "Threads that prepare batches").check(whole_number(1, 64));
  app.add_option("--model", options.model, "Size of the model: tiny, small, tutorial or 124m")
      .check(one_of(nn::GptConfig::names()))
      .type_name("NAME");
  app.add_option("--batch-size", options.batch_size,
                 "Samples per step, over all ranks together (what suits the model if left out)")
      .check(whole_number(1))
      .without_default();
  app.add_option("--steps", options.steps, "Updates in all").check(whole_number(1));
  app.add_option("--epochs", options.epochs, "Passes over the text, in place of --steps")
      .check(whole_number(1))
      .without_default();
  app.add_option("--seed", options.seed, "Seed of initial weights, sample order and dropout").check(whole_number(0));
  app.add_option(
         "--device", options.device,
         "Where to compute: cpu, emulated (a GPU's kernels on the CPU, slow), or cuda; an index names one: cuda:1")
      .check(device_name())
      .type_name("NAME");
  app.add_flag("--share-gpu", options.share_gpu,
               "Let several ranks of a host use one GPU where it has fewer than ranks");
}

void bind_precision_options(CommandLine& app, TrainOptions& options) {
  app.add_flag("--bf16", options.bf16,
               "Compute activations and matrix products in bfloat16; weights, gradients and updates stay float32");
  app.add_flag("--activation-checkpointing", options.activation_checkpointing,
               "Compute each block's activations again in backward: less memory, a third more time");
}

void bind_output_options(CommandLine& app, TrainOptions& options, std::string& resume) {
  app.add_option("--out", options.out, "Folder in which the run gets a folder of its own").type_name("FOLDER");
  app.add_option("--save-every", options.save_every, "Steps between checkpoints; 0 saves only at the end")
      .check(whole_number(0));
  app.add_option("--keep-last", options.keep_last, "Checkpoints that are kept; older ones are removed")
      .check(whole_number(1, 1'000'000));
  app.add_flag("--async-save,!--no-async-save", options.async_save,
               "Write checkpoints while training goes on, from a copy of the tensors in memory (the default)");
  app.add_option("--validate-every", options.validate_every,
                 "Steps between measurements of the validation loss; 0 measures only at the end")
      .check(whole_number(0));
  app.add_option("--resume", resume, "Continue a run: its folder, or the latest one in --out if left out")
      .allow_no_value()
      .type_name("[FOLDER]");
  app.add_option("--stop-after", options.stop_after, "Stop after this step as if interrupted, ready to --resume")
      .check(whole_number(1))
      .without_default();
  app.add_option("--prompt", options.prompt, "Beginning of the text generated at the end");
  app.add_option("--sample-tokens", options.sample_tokens, "Length of the text generated at the end; 0 for none")
      .check(whole_number(0));
}

void bind_parallel_options(CommandLine& app, TrainOptions& options) {
  app.add_option("--accumulation-steps", options.accumulation_steps,
                 "Parts in which each rank works through its share of a step's batch, to need less memory")
      .check(whole_number(1));
  app.add_flag("--uneven", options.uneven,
               "Use every sample of an epoch exactly once: the last batches may be smaller, or empty on some ranks");
  app.add_option("--check-replicas", options.check_replicas,
                 "Steps between comparisons of all ranks' weights; 0 compares only before checkpoints")
      .check(whole_number(0));
  app.add_option(
         "--backend", options.backend,
         "How ranks communicate: star, ring, nccl, gloo or mpi (if left out nccl with --device cuda, else ring)")
      .check(one_of({"star", "ring", "nccl", "gloo", "mpi"}))
      .type_name("NAME");
  app.add_option("--compress-gradients", options.compress_gradients, "How gradients travel: no (float32) or bf16")
      .check(one_of({"no", "bf16"}))
      .type_name("NAME");
  app.add_flag("--bind-cores", options.bind_cores, "Keep each rank on a share of the processors of its own");
  app.add_flag("--no-sync", options.no_sync, "Never average gradients, to see the replicas drift apart");
}

void bind_comparison_options(CommandLine& app, TrainOptions& options) {
  app.add_option(
         "--compare", options.compare,
         "Draw another run's losses in the report too: its folder, or one whose latest run it is; up to 5 times")
      .check(run_folder())
      .type_name("FOLDER")
      .without_default()
      .at_most(kMostComparedRuns - 1);
  app.add_option("--export-initial", options.export_initial,
                 "Write the initial weights to this safetensors file, to start another framework from them")
      .type_name("FILE");
  app.add_flag("--log-batches", options.log_batches, "Add each step's sample numbers to metrics.jsonl");
}

// Everything but --resume's value goes into `options`, whose present values are the defaults.
void bind_all(CommandLine& app, TrainOptions& options, std::string& resume) {
  bind_data_options(app, options);
  bind_optimization_options(app, options);
  bind_precision_options(app, options);
  bind_output_options(app, options, resume);
  bind_parallel_options(app, options);
  bind_comparison_options(app, options);
}

std::optional<fs::path> folder_to_resume(const CommandLine& app, const std::string& folder, const fs::path& out) {
  if (!app.is_given("--resume")) return std::nullopt;
  if (!folder.empty()) return folder;
  const std::optional<fs::path> latest = latest_run(out);
  if (!latest) {
    throw UsageError(concat("--resume: no run with a checkpoint in ", out.string(), "; name a run's folder or --out"));
  }
  return latest;
}

// What has gone into the weights so far cannot be another thing from now on.
void require_same_run(const TrainOptions& now, const TrainOptions& then) {
  const auto require_same = [&](const std::string& option, const auto& new_value, const auto& old_value) {
    if (new_value == old_value) return;
    throw UsageError(concat("--resume: ", now.resume->string(), " was trained with ", option, " ", old_value,
                            "; leave the option out, or start a new run"));
  };
  require_same("--model", now.model, then.model);
  require_same("--seed", now.seed, then.seed);
  require_same("--optimizer", now.optimizer, then.optimizer);
  require_same("--momentum", now.momentum, then.momentum);
  require_same("--nesterov", now.nesterov, then.nesterov);
  require_same("--batch-size", now.batch_size, then.batch_size);
  require_same("--data", now.data_path.string(), then.data_path.string());
  require_same("--validation-data", now.validation_data.string(), then.validation_data.string());
  require_same("--tokenizer", now.tokenizer, then.tokenizer);
  require_same("--vocabulary-size", now.vocabulary_size, then.vocabulary_size);
}

void make_absolute(fs::path& path) {
  if (!path.empty()) path = fs::absolute(path).lexically_normal();
}

void complete_data(TrainOptions& options) {
  if (options.tokenizer.empty()) options.tokenizer = data::usual_tokenizer(options.data_path);
  if (options.data_path != data::kRandomData) make_absolute(options.data_path);
  make_absolute(options.validation_data);
  if (const std::string file = data::parse_tokenizer_spec(options.tokenizer).file; !file.empty()) {
    options.tokenizer = fs::absolute(file).lexically_normal().string();
  }
  const bool is_usual_prompt = options.prompt == TrainOptions().prompt;
  if (options.tokenizer == "numbers" && is_usual_prompt) options.prompt = "0";  // no letters there
}

void complete(TrainOptions& options) {
  const Device device = Device::parse(options.device);
  device.require_available();
  if (options.backend.empty()) options.backend = device.type == DeviceType::kCuda ? "nccl" : "ring";
  for (fs::path& run : options.compare)
    if (!fs::exists(run / "metrics.jsonl")) run = latest_run(run).value_or(run);
  if (options.batch_size == 0) options.batch_size = nn::GptConfig::named(options.model).batch_size;
  complete_data(options);
}

// oneDNN packs a matrix into a buffer that it takes and frees in each product. glibc would keep such buffers in the
// heap once it has seen one freed, where small objects soon lie between them and the heap grows step by step (measured:
// 60 MiB a rank). Pages of their own go back at once; making them costs nothing beside a product of that size.
void give_large_buffers_back() {
#if defined(__GLIBC__)
  constexpr int kLargeBytes = 4 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLargeBytes);
#endif
}

}  // namespace

nn::GptConfig TrainOptions::model_config(std::int64_t vocabulary) const {
  nn::GptConfig config = nn::GptConfig::named(model);
  if (vocabulary == 0) vocabulary = vocabulary_size;
  if (vocabulary > 0) config.vocabulary_size = vocabulary;
  config.dropout = dropout;
  config.activation_checkpointing = activation_checkpointing;
  return config;
}

double TrainOptions::max_gradient_norm() const noexcept {
  return clip > 0 ? clip : std::numeric_limits<double>::infinity();
}

std::int64_t TrainOptions::total_steps(std::int64_t samples) const {
  const std::int64_t steps_per_epoch = (samples + (uneven ? batch_size - 1 : 0)) / batch_size;
  if (steps_per_epoch == 0) {
    throw FormatError(concat("the training text has ", samples, " samples, fewer than one batch of ", batch_size,
                             ": use a longer text or a smaller --batch-size"));
  }
  return epochs > 0 ? epochs * steps_per_epoch : steps;
}

void TrainOptions::require_divisible_batch(std::int64_t world_size) const {
  const std::int64_t parts = world_size * accumulation_steps;
  if (batch_size % parts == 0) return;
  const std::string micro_batches = concat(" with ", accumulation_steps, " --accumulation-steps");
  throw UsageError(concat("--batch-size ", batch_size, " cannot be divided evenly among ", world_size, " ranks",
                          accumulation_steps > 1 ? micro_batches : "", ": use a multiple of ", parts));
}

Device TrainOptions::device_of(int local_rank) const {
  return Device::for_rank(device, {.local_rank = local_rank, .share_gpu = share_gpu});
}

ParsedTrainOptions parse_train_options(int argc, const char* const* argv) {
  TrainOptions options;
  std::string resume;
  CommandLine app(kDescription, program_name(argv));
  bind_all(app, options, resume);
  if (const std::optional<int> exit_code = app.parse(argc, argv)) return {options, exit_code};
  if (app.is_given("--steps") && app.is_given("--epochs")) {
    throw UsageError("--steps and --epochs both say how long to train: give one of them");
  }
  const std::optional<fs::path> folder = folder_to_resume(app, resume, options.out);
  if (!folder) {
    require_sound_optimization(app, options);
    complete(options);
    return {options, std::nullopt};
  }
  // A second reading: what the command line says goes over what the run was started with.
  const TrainOptions then = options_from_json(parse_json(read_file(*folder / "options.json")));
  options = then;
  CommandLine again(kDescription, program_name(argv));
  bind_all(again, options, resume);
  if (const std::optional<int> exit_code = again.parse(argc, argv)) return {options, exit_code};
  require_sound_optimization(again, options);
  if (again.is_given("--steps")) options.epochs = 0;
  options.resume = folder;
  complete(options);
  require_same_run(options, then);
  return {options, std::nullopt};
}

int run_training(int argc, const char* const* argv, const std::function<int(const TrainOptions&)>& train) noexcept {
  return run_guarded(program_name(argv), [&] {
    give_large_buffers_back();
    const ParsedTrainOptions parsed = parse_train_options(argc, argv);
    if (parsed.exit_code) return *parsed.exit_code;
    if (!environment::get("LOCKSTEP_CHECK_OPTIONS")) {
      nn::set_default_device(parsed.options.device_of(0));
      return train(parsed.options);
    }
    parsed.options.require_divisible_batch(environment::get_int("WORLD_SIZE", 1, INT32_MAX).value_or(1));
    return 0;
  });
}

}  // namespace lockstep::run
