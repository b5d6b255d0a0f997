#include "run/description.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "comm/process_group.hpp"
#include "data/text.hpp"
#include "kernels/matmul.hpp"
#include "kernels/threads.hpp"
#include "run/optimization.hpp"
#include "run/readable.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace {

int world_size_of(const comm::ProcessGroup* group) { return group == nullptr ? 1 : group->world_size(); }

std::string counted(std::int64_t count, const std::string& thing) {
  return grouped(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string describe_model(const TrainOptions& options, std::int64_t parameters) {
  const nn::GptConfig config = options.model_config();
  return concat(config.name, ": ", grouped(parameters), " parameters (", config.layer_count, " layers, ",
                config.head_count, " heads, width ", config.channels, ", context ", config.context_length,
                ", vocabulary ", config.vocabulary_size, ")");
}

std::string describe_files(const TrainOptions& options) {
  const bool is_course_text = options.data.path.empty();
  const std::filesystem::path path = is_course_text ? data::find_course_text() : options.data.path;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  return concat(is_course_text ? "course text" : path.string(), ", ", short_bytes(bytes));
}

std::string describe_data(const TrainOptions& options, const RunSummary& facts) {
  std::string text = options.data.path == data::kRandomData ? "random tokens" : describe_files(options);
  if (facts.corpus.tokenizer) text += " as " + facts.corpus.tokenizer->description();
  return concat(text, ": ", grouped(facts.training_samples), " training and ", grouped(facts.validation_samples),
                " validation samples of ", options.model_config().context_length, " tokens");
}

std::string describe_batch(const TrainOptions& options, int world_size) {
  const std::int64_t tokens = options.batch_size * options.model_config().context_length;
  std::string text = concat(counted(options.batch_size, "sample"), " a step (", grouped(tokens), " tokens)");
  if (world_size > 1) text += concat(", ", options.batch_size / world_size, " on each rank");
  if (options.accumulation_steps > 1) text += concat(", in ", options.accumulation_steps, " parts");
  return text;
}

std::string describe_ranks(const TrainOptions& options, const comm::ProcessGroup* group) {
  const std::string backend = group == nullptr ? "" : concat(" (", group->backend(), ")");
  const int world_size = world_size_of(group);
  return concat(world_size, backend, ", device ", options.device.name, ", ", counted(kernels::thread_count(), "thread"),
                world_size > 1 ? " each" : "");
}

std::string describe_steps(const TrainOptions& options, const RunSummary& facts) {
  const std::int64_t steps = options.total_steps(facts.training_samples);
  const double epochs = static_cast<double>(steps * options.batch_size) /
                        static_cast<double>(std::max<std::int64_t>(facts.training_samples, 1));
  return concat(grouped(steps), " (", fixed(epochs, epochs < 9.95 ? 1 : 0), " epochs), seed ", options.seed);
}

std::string describe_precision() {
  return concat("bfloat16 activations and products, float32 weights, gradients and updates",
                kernels::has_bfloat16_products() ? "" : "; emulated: no bfloat16 instructions here, so not faster");
}

// Bytes that a terminal would act on become a dot; line feeds stay.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }, '.');
  return text;
}

}  // namespace

Facts describe(const TrainOptions& options, const RunSummary& facts, const comm::ProcessGroup* group) {
  Facts all{{"model", describe_model(options, facts.parameters)},
            {"data", describe_data(options, facts)},
            {"batch", describe_batch(options, world_size_of(group))},
            {"ranks", describe_ranks(options, group)},
            {"steps", describe_steps(options, facts)},
            {"update", describe_optimization(options)}};
  if (options.model.bf16) all.emplace_back("bf16", describe_precision());
  if (options.model.activation_checkpointing)
    all.emplace_back("memory", "activations of a block are computed again in backward");
  return all;
}

std::string banner(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    text += "  " + name + std::string(name.size() < 8 ? 8 - name.size() : 1, ' ') + value + "\n";
  }
  return text;
}

std::string closing(const std::filesystem::path& run_folder, const Outcome& outcome) {
  std::string text = concat("\n", outcome.step < outcome.last_step ? "stopped after step " : "trained ", outcome.step,
                            outcome.step < outcome.last_step ? concat(" of ", outcome.last_step) : " steps", " in ",
                            clock_time(outcome.elapsed), ", loss ", fixed(outcome.loss, 4));
  if (outcome.validation_loss) text += ", validation loss " + fixed(*outcome.validation_loss, 4);
  text += "\n";
  if (!outcome.generated.empty()) text += "\nThe model writes:\n\n" + printable(outcome.generated) + "\n\n";
  text += concat("  report      ", (run_folder / "report.html").string(), "\n");
  text += concat("  checkpoint  ", checkpoints_of(run_folder).string(), "\n");
  if (outcome.step < outcome.last_step) text += concat("  go on with  --resume ", run_folder.string(), "\n");
  return text;
}

}  // namespace lockstep::run
