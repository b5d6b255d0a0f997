// estimate_memory: the memory that training a GPT needs on each rank, by strategy. `lockstep estimate` runs it.
#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "08_accelerate/process/memory_estimate.hpp"
#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/terminal.hpp"
#include "nn/gpt_parameters.hpp"
#include "nn/training_memory.hpp"

using namespace lockstep;

namespace {

struct Strategy {
  const char* name;  // in the JSON
  const char* title;  // in the tables
  plan::Sharding sharding;
  bool is_alone;  // one rank, whatever the number of ranks
};
constexpr std::array kStrategies = {Strategy{"single", "one rank", plan::Sharding::kNothing, true},
                                    Strategy{"ddp", "DDP", plan::Sharding::kNothing, false},
                                    Strategy{"zero1", "ZeRO 1 (+ moments)", plan::Sharding::kOptimizer, false},
                                    Strategy{"zero2", "ZeRO 2 (+ gradients)", plan::Sharding::kGradients, false},
                                    Strategy{"zero3", "ZeRO 3, FSDP (+ values)", plan::Sharding::kWeights, false}};

struct Options {
  std::string model;
  int world_size = 0;  // 0: 4, or as many as --tensor and --pipeline need
  std::int64_t batch_size = 0;  // 0: the model's usual one
  std::int64_t context = 0;  // 0: the model's
  std::string mixed_precision = "no";
  bool activation_checkpointing = false;
  int zero = -1;  // -1: all strategies
  int tensor = 1, pipeline = 1, last_stage_blocks = 0, accumulation_steps = 1;
  bool sequence_parallel = false, is_json = false;

  [[nodiscard]] int ranks_of_a_model() const { return tensor * pipeline; }
  [[nodiscard]] bool divides_model() const { return ranks_of_a_model() > 1; }
  [[nodiscard]] int usual_ranks() const { return divides_model() ? ranks_of_a_model() : 4; }
};

accelerate::EstimateRequest request_of(const Options& options) {
  accelerate::EstimateRequest request{.config = accelerate::find_model_sizes(options.model)};
  const std::int64_t longest = request.config.context_length;
  request.config.activation_checkpointing |= options.activation_checkpointing;
  const std::int64_t usual = std::max<std::int64_t>(1, request.config.batch_size / options.accumulation_steps);
  request.batch_size = options.batch_size > 0 ? options.batch_size : usual;
  request.context = options.context > 0 ? options.context : longest;
  request.is_half = options.mixed_precision != "no";
  request.world_size = options.world_size > 0 ? options.world_size : options.usual_ranks();
  if (request.context > longest) {
    throw UsageError(concat("--context ", request.context, ": ", options.model, " sees at most ", longest,
                            " positions"));
  }
  return request;
}

accelerate::RankMemory memory_of(accelerate::EstimateRequest request, const Strategy& strategy) {
  if (strategy.is_alone) request.world_size = 1;
  return accelerate::estimate_memory(request, strategy.sharding);
}

nn::TrainingPlan plan_of(const accelerate::EstimateRequest& request, const Options& options) {
  return {.config = request.config, .batch_size = request.batch_size, .context = request.context, .is_half = request.is_half, .ranks = request.world_size / options.ranks_of_a_model(), .stage = std::max(options.zero, 0), .tensor = options.tensor, .is_sequence_parallel = options.sequence_parallel, .pipeline = options.pipeline, .last_stage_blocks = options.last_stage_blocks, .micro_batches = options.accumulation_steps};
}

void require_possible(const accelerate::EstimateRequest& request, const Options& options) {
  const nn::GptConfig& config = request.config;
  if (options.last_stage_blocks > 0 && options.pipeline == 1)
    throw UsageError("--last-stage-blocks is for stages of a pipeline: add --pipeline 2");
  if (options.sequence_parallel && options.tensor == 1)
    throw UsageError("--sequence-parallel is for ranks that divide matrices: add --tensor 2");
  if (request.world_size % options.ranks_of_a_model() != 0)
    throw UsageError(concat(request.world_size, " ranks are no multiple of --tensor ", options.tensor, " x --pipeline ", options.pipeline));
  if (config.head_count % options.tensor != 0)
    throw UsageError(concat("--tensor ", options.tensor, ": the ranks cannot divide the ", config.head_count, " heads of ", options.model));
  if (config.layer_count - std::max(options.last_stage_blocks, 1) < options.pipeline - 1)
    throw UsageError(concat("--pipeline ", options.pipeline, options.last_stage_blocks > 0 ? concat(" with --last-stage-blocks ", options.last_stage_blocks) : "", ": ", options.model, " has only ", config.layer_count, " blocks"));
  if (options.zero > 1 && options.divides_model())
    throw UsageError(concat("--zero ", options.zero, " is for ranks with a whole model each: with --tensor or --pipeline take --zero 1"));
}

// 1024^2 bytes, as system tools show them.
std::string mib(double bytes) { return with_digits(bytes / (1 << 20), 1); }

void print_parts(const accelerate::EstimateRequest& request) {
  TextTable table;
  table.add({"MiB on each rank", "values", "2-byte copy", "gradients", "moments", "units", "activations", "together"});
  for (const Strategy& strategy : kStrategies) {
    const accelerate::RankMemory m = memory_of(request, strategy);
    const std::string ranks = strategy.is_alone ? "" : concat(", ", request.world_size, " ranks");
    table.add({strategy.title + ranks, mib(m.values), mib(m.half_values), mib(m.gradients), mib(m.moments),
               mib(m.units), mib(m.activations), mib(m.total())});
  }
  std::cout << table.text();
}

void print_by_ranks(accelerate::EstimateRequest request) {
  constexpr std::array kRanks = {1, 2, 4, 8, 16, 64};
  TextTable table;
  std::vector<std::string> head = {"MiB on each of N ranks; N ="};
  for (const int ranks : kRanks) head.push_back(std::to_string(ranks));
  table.add(head);
  for (const Strategy& strategy : kStrategies) {
    if (strategy.is_alone) continue;
    std::vector<std::string> row = {strategy.title};
    for (const int ranks : kRanks) {
      request.world_size = ranks;
      row.push_back(mib(memory_of(request, strategy).total()));
    }
    table.add(row);
  }
  std::cout << '\n'
            << table.text();
}

void print_kinds(const accelerate::EstimateRequest& request, const Options& options) {
  const nn::TrainingMemory m = nn::training_memory(plan_of(request, options));
  const int stage = options.zero;
  TextTable table;
  table.add({concat("MiB on each of ", request.world_size, " ranks"), stage == 0 ? "DDP" : concat("ZeRO ", stage)});
  table.add({stage == 3 ? "values of its own part" : "values", mib(m.values)});
  if (request.is_half) table.add({"2-byte copy of matrices", mib(m.half_values)});
  if (stage == 3) table.add({"units of values that are whole", mib(m.whole_values)});
  table.add({stage >= 2 ? "gradients of its own part" : "gradients", mib(m.gradients)});
  if (stage >= 2) table.add({"units of gradients that are whole", mib(m.whole_gradients)});
  table.add({stage >= 1 ? "moments of its own part" : "moments", mib(m.moments)});
  table.add({"activations", mib(m.activations)});
  table.add({"logits", mib(m.logits)});
  table.add({"together, at the peak of a step", mib(m.total())});
  std::cout << table.text();
}

// A row for each rank of the pipeline.
void print_divided(const accelerate::EstimateRequest& request, const Options& options) {
  const nn::TrainingPlan plan = plan_of(request, options);
  TextTable table;
  table.add({"MiB on each rank", "values", "2-byte copy", "gradients", "moments", "activations", "logits", "together"});
  int stage = 0;
  for (const nn::TrainingMemory& m : nn::training_memory_by_stage(plan)) {
    const std::string who = plan.pipeline == 1 ? "each" : concat("of stage ", stage++);
    table.add({who, mib(m.values), mib(m.half_values), mib(m.gradients), mib(m.moments), mib(m.activations), mib(m.logits), mib(m.total())});
  }
  std::cout << table.text() << "\n--pipeline " << plan.pipeline << " x --tensor " << plan.tensor << " x " << plan.ranks << (plan.ranks > 1 ? " ranks that share the samples" : " rank")
            << (plan.ranks > 1 && plan.stage == 1 ? " and the moments" : "") << ". Micro-batches in a step: " << plan.micro_batches << ";\n"
            << "stage s of P holds the activations of P - s of them (1F1B), or of all if there are fewer.\n";
}

void print_heading(const accelerate::EstimateRequest& request, const Options& options) {
  std::cout << options.model << ": " << nn::gpt_parameter_count(request.config) << " parameters, AdamW, "
            << (request.is_half ? options.mixed_precision : "float32") << ", " << request.batch_size << " x "
            << request.context << " positions at once on a rank"
            << (request.config.activation_checkpointing ? ", activation checkpointing" : "") << "\n\n";
}

void print_tables(const accelerate::EstimateRequest& request) {
  print_parts(request);
  print_by_ranks(request);
  std::cout << "\nZeRO adds to what is split among the ranks, line by line; units are values and gradients of layers at\n"
               "work, which are whole for a moment. Not counted: program and libraries, buffers of collectives, data,\n"
               "a checkpoint being written, gaps in memory. For one strategy kind by kind: --zero 0 (DDP) to 3.\n";
}

nlohmann::ordered_json json_of(const nn::TrainingMemory& m) {
  return {{"values", m.values}, {"half_values", m.half_values}, {"whole_values", m.whole_values}, {"gradients", m.gradients}, {"whole_gradients", m.whole_gradients}, {"moments", m.moments}, {"activations", m.activations}, {"logits", m.logits}, {"total", m.total()}};
}

void print_json(const accelerate::EstimateRequest& request, const Options& options) {
  nlohmann::ordered_json all = {{"model", options.model},
                                {"parameters", nn::gpt_parameter_count(request.config)},
                                {"mixed_precision", options.mixed_precision},
                                {"batch_size", request.batch_size},
                                {"context", request.context},
                                {"activation_checkpointing", request.config.activation_checkpointing},
                                {"num_processes", request.world_size}};
  for (const Strategy& strategy : kStrategies) {
    const accelerate::RankMemory m = memory_of(request, strategy);
    all["bytes"][strategy.name] = {{"values", m.values}, {"half_values", m.half_values}, {"gradients", m.gradients}, {"moments", m.moments}, {"units", m.units}, {"activations", m.activations}, {"total", m.total()}};
  }
  const nn::TrainingPlan plan = plan_of(request, options);
  if (options.zero >= 0) all.update({{"zero", options.zero}, {"kinds", json_of(nn::training_memory(plan))}});
  if (options.divides_model())
    for (const nn::TrainingMemory& m : nn::training_memory_by_stage(plan)) all["stages"].push_back(json_of(m));
  std::cout << dump_json(all, 2, BadUtf8::kReplace) << "\n";
}

int estimate(const Options& options) {
  const accelerate::EstimateRequest request = request_of(options);
  require_possible(request, options);
  if (options.is_json) {
    print_json(request, options);
    return 0;
  }
  print_heading(request, options);
  if (options.divides_model()) {
    print_divided(request, options);
  } else if (options.zero >= 0) {
    print_kinds(request, options);
  } else {
    print_tables(request);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Says how much memory training a GPT with AdamW needs on each rank, by strategy.",
                  environment::get("LOCKSTEP_PROGRAM").value_or(""));
  Options options;
  app.add_option("model", options.model,
                 "tiny, small, tutorial, 124m (gpt2), 350m (gpt2-medium), 774m (gpt2-large), 1.5b (gpt2-xl); or a "
                 "folder with a config.json of GPT-2, a run or a checkpoint")
      .required();
  app.add_option("--num-processes,--num_processes,--world-size", options.world_size,
                 "Number of ranks (if left out: 4, or as many as --tensor and --pipeline need)")
      .check(whole_number(1, 1'000'000))
      .without_default();
  app.add_option("--batch-size", options.batch_size,
                 "Samples at once on each rank, its micro-batch (the model's usual number if left out)")
      .check(whole_number(1, 1'000'000))
      .without_default();
  app.add_option("--context", options.context, "Positions per sample (the model's if left out)")
      .check(whole_number(1, 100'000'000))
      .without_default();
  app.add_option("--mixed-precision,--mixed_precision", options.mixed_precision, "no, bf16 or fp16")
      .check(one_of({"no", "bf16", "fp16"}));
  app.add_flag("--activation-checkpointing", options.activation_checkpointing,
               "Blocks are computed again in backward instead of kept");
  app.add_option("--zero", options.zero,
                 "Shows one strategy, kind by kind: a stage of ZeRO, or 0 for DDP (all strategies if left out)")
      .check(whole_number(0, 3))
      .without_default();
  app.add_option("--tensor", options.tensor, "Ranks that divide every matrix, as chapter 10 does").check(whole_number(1, 1024));
  app.add_flag("--sequence-parallel", options.sequence_parallel, "With --tensor: they divide the residual stream too, by rows");
  app.add_option("--pipeline", options.pipeline, "Ranks that divide the blocks, as chapter 11 does").check(whole_number(1, 1024));
  app.add_option("--last-stage-blocks", options.last_stage_blocks, "With --pipeline: blocks of the last stage; 0: as many as others have").check(whole_number(0, 1'000'000));
  app.add_option("--accumulation-steps", options.accumulation_steps, "Micro-batches of a step; divides the usual batch if --batch-size is left out")
      .check(whole_number(1, 1'000'000));
  app.add_flag("--json", options.is_json, "Print bytes as JSON instead of tables");
  return run_main(app, argc, argv, [&] { return estimate(options); });
}
