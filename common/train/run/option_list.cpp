#include "run/option_list.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "run/comparison.hpp"
#include "run/option_checks.hpp"

namespace lockstep::run {

OptionList loop_options(RunOptions& options) {
  return {
      {.field = &options.batch_size,
       .name = "--batch-size",
       .help = "Samples per step, over all ranks together (the model's usual number if left out)",
       .check = whole_number(1),
       .shows_default = false,
       .kind = OptionKind::kFixed},
      {.field = &options.accumulation_steps,
       .name = "--accumulation-steps",
       .help = "Parts in which each rank works through its share of a step's batch, to need less memory",
       .check = whole_number(1)},
      {.field = &options.steps, .name = "--steps", .help = "Updates in all", .check = whole_number(1)},
      {.field = &options.epochs,
       .name = "--epochs",
       .help = "Passes over the data, in place of --steps",
       .check = whole_number(1),
       .shows_default = false},
      {.field = &options.uneven,
       .name = "--uneven",
       .help = "Use every sample of an epoch exactly once: the last batches may be smaller, or empty on some ranks"},
      {.field = &options.seed,
       .name = "--seed",
       .help = "Seed of initial weights, sample order and dropout",
       .check = whole_number(0),
       .kind = OptionKind::kFixed},
      {.field = &options.stop_after,
       .name = "--stop-after",
       .help = "Stop after this step as if interrupted, ready to --resume",
       .check = whole_number(1),
       .shows_default = false,
       .kind = OptionKind::kThisTime},
  };
}

OptionList optimizer_options(OptimizerOptions& optimizer) {
  return {
      {.field = &optimizer.name,
       .name = "--optimizer",
       .help = "What turns gradients into updates: adamw, adam or sgd",
       .check = one_of({"adamw", "adam", "sgd"}),
       .value_name = "NAME",
       .kind = OptionKind::kFixed},
      {.field = &optimizer.momentum,
       .name = "--momentum",
       .help = "Share of its last step that sgd keeps; 0 keeps none",
       .check = real_number(0, 0.9999),
       .kind = OptionKind::kFixed},
      {.field = &optimizer.nesterov,
       .name = "--nesterov",
       .help = "sgd looks one step of momentum ahead",
       .kind = OptionKind::kFixed},
      {.field = &optimizer.weight_decay,
       .name = "--weight-decay",
       .help = "Weight decay of matrices and embeddings",
       .check = real_number(0)},
      {.field = &optimizer.clip,
       .name = "--clip",
       .help = "Largest norm of the gradient; 0 does not clip",
       .check = real_number(0)},
  };
}

OptionList learning_rate_options(LearningRateOptions& learning_rate) {
  return {
      {.field = &learning_rate.highest,
       .name = "--learning-rate",
       .help = "Learning rate at its highest, after the warm-up",
       .check = real_number(0)},
      {.field = &learning_rate.lowest,
       .name = "--min-learning-rate",
       .help = "Learning rate at the end, scaled like the highest",
       .check = real_number(0)},
      {.field = &learning_rate.warmup_steps,
       .name = "--warmup-steps",
       .help = "Steps in which the learning rate rises",
       .check = whole_number(0)},
      {.field = &learning_rate.schedule,
       .name = "--schedule",
       .help = "How the learning rate falls after the warm-up: cosine, linear, or constant (not at all)",
       .check = one_of({"cosine", "linear", "constant"}),
       .value_name = "NAME"},
      {.field = &learning_rate.reference_batch_size,
       .name = "--reference-batch-size",
       .help = "The batch size that --learning-rate was found for: the rate is scaled to --batch-size",
       .check = whole_number(1),
       .shows_default = false},
      {.field = &learning_rate.scaling,
       .name = "--learning-rate-scaling",
       .help = "How it is scaled: linear (by the ratio of the batch sizes), sqrt (by the ratio's square root) or none",
       .check = one_of({"linear", "sqrt", "none"}),
       .value_name = "NAME"},
  };
}

OptionList device_options(DeviceOptions& device) {
  return {
      {.field = &device.name,
       .name = "--device",
       .help =
           "Where to compute: cpu, emulated (a GPU's kernels on the CPU, slow), or cuda; an index names one: cuda:1",
       .check = device_name(),
       .value_name = "NAME"},
      {.field = &device.share_gpu,
       .name = "--share-gpu",
       .help = "Let several ranks of a host use one GPU where it has fewer GPUs than ranks",
       .kind = OptionKind::kThisTime},
      {.field = &device.bind_cores,
       .name = "--bind-cores",
       .help = "Give each rank its own share of the host's processors, and keep it there"},
  };
}

OptionList parallel_options(ParallelOptions& parallel) {
  return {
      {.field = &parallel.backend,
       .name = "--backend",
       .help = "How ranks communicate: star, ring, shared_memory, nccl, gloo or mpi; auto: nccl with --device cuda, "
               "else shared_memory on one host and ring on several",
       .check = one_of({"auto", "star", "ring", "shared_memory", "nccl", "gloo", "mpi"}),
       .value_name = "NAME"},
      {.field = &parallel.compress_gradients,
       .name = "--compress-gradients",
       .help = "How gradients travel: no (float32) or bf16",
       .check = one_of({"no", "bf16"}),
       .value_name = "NAME"},
      {.field = &parallel.check_replicas,
       .name = "--check-replicas",
       .help = "Steps between comparisons of all ranks' weights; 0 compares only before checkpoints",
       .check = whole_number(0)},
      {.field = &parallel.no_sync,
       .name = "--no-sync",
       .help = "Never average gradients, to see the replicas drift apart"},
  };
}

OptionList checkpoint_options(CheckpointOptions& checkpoints) {
  return {
      {.field = &checkpoints.save_every,
       .name = "--save-every",
       .help = "Steps between checkpoints; 0 saves only at the end",
       .check = whole_number(0)},
      {.field = &checkpoints.keep_last,
       .name = "--keep-last",
       .help = "Checkpoints that are kept; older ones are removed",
       .check = whole_number(1, 1'000'000)},
      {.field = &checkpoints.async_save,
       .name = "--async-save,!--no-async-save",
       .help = "Write checkpoints while training goes on (the default)"},
  };
}

OptionList output_options(OutputOptions& output) {
  return {
      {.field = &output.folder,
       .name = "--out",
       .help = "Folder in which the run gets a folder of its own",
       .value_name = "FOLDER"},
      {.field = &output.validate_every,
       .name = "--validate-every",
       .help = "Steps between measurements of the validation loss; 0 measures only at the end",
       .check = whole_number(0)},
      {.field = &output.compare,
       .name = "--compare",
       .help =
           "Draw another run's losses in the report too: its folder, or a folder whose latest run it is; up to 5 times",
       .check = run_folder(),
       .value_name = "FOLDER",
       .shows_default = false,
       .at_most = kMostComparedRuns - 1,
       .kind = OptionKind::kThisTime},
      {.field = &output.export_initial,
       .name = "--export-initial",
       .help = "Write the initial weights to this safetensors file, to start another framework from them",
       .value_name = "FILE",
       .kind = OptionKind::kThisTime},
      {.field = &output.log_batches,
       .name = "--log-batches",
       .help = "Add each step's sample numbers to metrics.jsonl"},
  };
}

std::string OptionDeclaration::json_name() const {
  std::string text = name.substr(0, name.find(','));
  text.erase(0, text.find_first_not_of('-'));
  std::ranges::replace(text, '-', '_');
  return text;
}

OptionList join(std::initializer_list<OptionList> topics) {
  OptionList all;
  for (const OptionList& topic : topics) all.insert(all.end(), topic.begin(), topic.end());
  return all;
}

OptionList list_options(RunOptions& options) {
  // A program that does not do these things itself would take them and do nothing.
  constexpr std::array<std::string_view, 3> kOfPrograms{"--accumulation-steps", "--uneven", "--bind-cores"};
  OptionList all =
      join({loop_options(options), learning_rate_options(options.learning_rate), device_options(options.device),
            checkpoint_options(options.checkpoints), output_options(options.output)});
  std::erase_if(all, [&](const OptionDeclaration& option) { return std::ranges::count(kOfPrograms, option.name) > 0; });
  OptionDeclaration& batch_size = all.front();  // which has a default here, whatever the model
  batch_size.help = "Samples per step, over all ranks together";
  batch_size.shows_default = true;
  all.push_back({.field = &options.task, .name = "task", .kind = OptionKind::kRecorded});
  return all;
}

}  // namespace lockstep::run
