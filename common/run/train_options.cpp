#include "run/train_options.hpp"

#include <malloc.h>

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "data/corpus.hpp"
#include "run/optimization.hpp"
#include "run/option_list.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescription =
    "Trains a GPT on a text and leaves a run folder: checkpoints, metrics.jsonl, report.html.";

// The device that a launcher has chosen for programs that are not told otherwise. `lockstep launch` looks for the name
// in a program's file: `used` keeps it there in one piece.
[[gnu::used]] constexpr char kDeviceVariable[] = "LOCKSTEP_DEVICE";

std::string program_name(const char* const* argv) {
  return environment::get("LOCKSTEP_PROGRAM").value_or(fs::path(argv[0]).filename().string());
}

void add_option(CommandLine& app, const OptionDeclaration& declared) {
  const auto add = [&]<typename T>(T* field) {
    if constexpr (std::same_as<T, bool>) {
      app.add_flag(declared.name, *field, declared.help);
    } else {
      const CommandLine::Option option = app.add_option(declared.name, *field, declared.help);
      if (declared.check) option.check(declared.check);
      if (declared.value_name != nullptr) option.type_name(declared.value_name);
      if (!declared.shows_default) option.without_default();
      if (declared.at_most > 0) option.at_most(declared.at_most);
    }
  };
  std::visit(add, declared.field);
}

// Everything but --resume's value goes into `options`, whose present values are the defaults.
void add_all(CommandLine& app, TrainOptions& options, std::string& resume) {
  for (const OptionDeclaration& declared : list_options(options)) {
    if (declared.is_on_command_line()) add_option(app, declared);
  }
  app.add_option("--resume", resume, "Continue a run: its folder, or the latest one in --out if left out")
      .allow_no_value()
      .type_name("[FOLDER]");
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

// What has shaped the weights so far cannot change from now on.
void require_same_run(const TrainOptions& now, const TrainOptions& then) {
  const nlohmann::json new_values = to_json(now), old_values = to_json(then);
  TrainOptions any;
  for (const OptionDeclaration& option : list_options(any)) {
    if (option.kind != OptionKind::kFixed) continue;
    const nlohmann::json& old_value = old_values.at(option.json_name());
    if (new_values.at(option.json_name()) == old_value) continue;
    const bool is_text = old_value.is_string();
    const std::string text = is_text ? old_value.get<std::string>() : dump_json(old_value);
    throw UsageError(concat("--resume: ", now.resume->string(), " was trained ", text.empty() ? "without " : "with ",
                            option.name, text.empty() ? "" : " ", text, "; leave the option out, or start a new run"));
  }
}

void make_absolute(fs::path& path) {
  if (!path.empty()) path = fs::absolute(path).lexically_normal();
}

void complete_data(TrainOptions& options) {
  if (options.data.tokenizer.empty()) options.data.tokenizer = data::usual_tokenizer(options.data.path);
  if (options.data.path != data::kRandomData) make_absolute(options.data.path);
  make_absolute(options.data.validation_path);
  if (const std::string file = data::parse_tokenizer_spec(options.data.tokenizer).file; !file.empty()) {
    options.data.tokenizer = fs::absolute(file).lexically_normal().string();
  }
  const bool is_usual_prompt = options.output.prompt == OutputOptions().prompt;
  if (options.data.tokenizer == "numbers" && is_usual_prompt) options.output.prompt = "0";  // no letters there
}

void complete(TrainOptions& options) {
  const Device device = Device::parse(options.device.name);
  device.require_available();
  if (options.parallel.backend.empty()) options.parallel.backend = device.type == DeviceType::kCuda ? "nccl" : "ring";
  for (fs::path& run : options.output.compare)
    if (!fs::exists(run / "metrics.jsonl")) run = latest_run(run).value_or(run);
  if (options.batch_size == 0) options.batch_size = nn::GptConfig::named(options.model.name).batch_size;
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
  nn::GptConfig config = nn::GptConfig::named(model.name);
  if (vocabulary == 0) vocabulary = data.vocabulary_size;
  if (vocabulary > 0) config.vocabulary_size = vocabulary;
  config.dropout = model.dropout;
  config.activation_checkpointing = model.activation_checkpointing;
  return config;
}

double TrainOptions::max_gradient_norm() const noexcept {
  return optimizer.clip > 0 ? optimizer.clip : std::numeric_limits<double>::infinity();
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
  return Device::for_rank(device.name, {.local_rank = local_rank, .share_gpu = device.share_gpu});
}

ParsedTrainOptions parse_train_options(int argc, const char* const* argv) {
  TrainOptions options;
  options.device.name = environment::get(kDeviceVariable).value_or(options.device.name);
  std::string resume;
  CommandLine app(kDescription, program_name(argv));
  add_all(app, options, resume);
  if (const std::optional<int> exit_code = app.parse(argc, argv)) return {options, exit_code};
  if (app.is_given("--steps") && app.is_given("--epochs")) {
    throw UsageError("--steps and --epochs both say how long to train: give one of them");
  }
  const std::optional<fs::path> folder = folder_to_resume(app, resume, options.output.folder);
  if (!folder) {
    require_sound_optimization(app, options);
    complete(options);
    return {options, std::nullopt};
  }
  // A second reading: what the command line says goes over what the run was started with.
  const TrainOptions then = options_from_json(parse_json(read_file(*folder / "options.json")));
  options = then;
  CommandLine again(kDescription, program_name(argv));
  add_all(again, options, resume);
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
    if (!environment::get("LOCKSTEP_CHECK_OPTIONS")) return train(parsed.options);
    parsed.options.require_divisible_batch(environment::get_int("WORLD_SIZE", 1, INT32_MAX).value_or(1));
    return 0;
  });
}

}  // namespace lockstep::run
