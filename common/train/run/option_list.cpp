#include "run/option_list.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "run/comparison.hpp"
#include "run/option_checks.hpp"
#include "run/option_rows.hpp"

namespace lockstep::run {

OptionList loop_options(RunOptions& options) {
  return {
      fixed(without_default({&options.batch_size, "--batch-size",
                             "Samples per step, over all ranks together (the model's usual number if left out)",
                             whole_number(1)})),
      {&options.accumulation_steps, "--accumulation-steps",
       "Parts in which each rank works through its share of a step's batch, to need less memory", whole_number(1)},
      {&options.steps, "--steps", "Updates in all", whole_number(1)},
      without_default({&options.epochs, "--epochs", "Passes over the data, in place of --steps", whole_number(1)}),
      {&options.uneven, "--uneven",
       "Use every sample of an epoch exactly once: the last batches may be smaller, or empty on some ranks"},
      fixed({&options.seed, "--seed", "Seed of initial weights, sample order and dropout", whole_number(0)}),
      this_time(without_default({&options.stop_after, "--stop-after",
                                 "Stop after this step as if interrupted, ready to --resume", whole_number(1)})),
  };
}

OptionList optimizer_options(OptimizerOptions& optimizer) {
  return {
      fixed({&optimizer.name, "--optimizer", "What turns gradients into updates: adamw, adam or sgd",
             one_of({"adamw", "adam", "sgd"}), "NAME"}),
      fixed({&optimizer.momentum, "--momentum", "Share of its last step that sgd keeps; 0 keeps none",
             real_number(0, 0.9999)}),
      fixed({&optimizer.nesterov, "--nesterov", "sgd looks one step of momentum ahead"}),
      {&optimizer.weight_decay, "--weight-decay", "Weight decay of matrices and embeddings", real_number(0)},
      {&optimizer.clip, "--clip", "Largest norm of the gradient; 0 does not clip", real_number(0)},
  };
}

OptionList learning_rate_options(LearningRateOptions& learning_rate) {
  return {
      {&learning_rate.highest, "--learning-rate", "Learning rate at its highest, after the warm-up", real_number(0)},
      {&learning_rate.lowest, "--min-learning-rate", "Learning rate at the end, scaled like the highest",
       real_number(0)},
      {&learning_rate.warmup_steps, "--warmup-steps", "Steps in which the learning rate rises", whole_number(0)},
      {&learning_rate.schedule, "--schedule",
       "How the learning rate falls after the warm-up: cosine, linear, or constant (not at all)",
       one_of({"cosine", "linear", "constant"}), "NAME"},
      without_default({&learning_rate.reference_batch_size, "--reference-batch-size",
                       "The batch size that --learning-rate was found for: the rate is scaled to --batch-size",
                       whole_number(1)}),
      {&learning_rate.scaling, "--learning-rate-scaling",
       "How it is scaled: linear (by the ratio of the batch sizes), sqrt (by the ratio's square root) or none",
       one_of({"linear", "sqrt", "none"}), "NAME"},
  };
}

OptionList device_options(DeviceOptions& device) {
  return {
      {&device.name, "--device",
       "Where to compute: cpu, emulated (a GPU's kernels on the CPU, slow), or cuda; an index names one: cuda:1",
       device_name(), "NAME"},
      this_time({&device.share_gpu, "--share-gpu",
                 "Let several ranks of a host use one GPU where it has fewer GPUs than ranks"}),
      {&device.bind_cores, "--bind-cores", "Give each rank its own share of the host's processors, and keep it there"},
  };
}

OptionList parallel_options(ParallelOptions& parallel) {
  return {
      {&parallel.backend, "--backend",
       "How ranks communicate: star, ring, shared_memory, nccl, gloo or mpi; auto: nccl with --device cuda, else "
       "shared_memory on one host and ring on several",
       one_of({"auto", "star", "ring", "shared_memory", "nccl", "gloo", "mpi"}), "NAME"},
      {&parallel.compress_gradients, "--compress-gradients", "How gradients travel: no (float32) or bf16",
       one_of({"no", "bf16"}), "NAME"},
      {&parallel.check_replicas, "--check-replicas",
       "Steps between comparisons of all ranks' weights; 0 compares only before checkpoints", whole_number(0)},
      {&parallel.no_sync, "--no-sync", "Never average gradients, to see the replicas drift apart"},
  };
}

OptionList checkpoint_options(CheckpointOptions& checkpoints) {
  return {
      {&checkpoints.save_every, "--save-every", "Steps between checkpoints; 0 saves only at the end", whole_number(0)},
      {&checkpoints.keep_last, "--keep-last", "Checkpoints that are kept; older ones are removed",
       whole_number(1, 1'000'000)},
      {&checkpoints.async_save, "--async-save,!--no-async-save",
       "Write checkpoints while training goes on (the default)"},
  };
}

OptionList output_options(OutputOptions& output) {
  return {
      {&output.folder, "--out", "Folder in which the run gets a folder of its own", nullptr, "FOLDER"},
      {&output.validate_every, "--validate-every",
       "Steps between measurements of the validation loss; 0 measures only at the end", whole_number(0)},
      {.field = &output.compare,
       .name = "--compare",
       .help =
           "Draw another run's losses in the report too: its folder, or a folder whose latest run it is; up to 5 times",
       .check = run_folder(),
       .value_name = "FOLDER",
       .shows_default = false,
       .at_most = kMostComparedRuns - 1,
       .kind = OptionKind::kThisTime},
      this_time({&output.export_initial, "--export-initial",
                 "Write the initial weights to this safetensors file, to start another framework from them", nullptr,
                 "FILE"}),
      {&output.log_batches, "--log-batches", "Add each step's sample numbers to metrics.jsonl"},
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
  // A program that does not implement these would accept them and do nothing.
  constexpr std::array<std::string_view, 3> kOfPrograms{"--accumulation-steps", "--uneven", "--bind-cores"};
  OptionList all =
      join({loop_options(options), learning_rate_options(options.learning_rate), device_options(options.device),
            checkpoint_options(options.checkpoints), output_options(options.output)});
  std::erase_if(all, [&](const OptionDeclaration& option) { return std::ranges::count(kOfPrograms, option.name) > 0; });
  OptionDeclaration& batch_size = all.front();  // which has a default here, unlike in a GPT
  batch_size.help = "Samples per step, over all ranks together";
  batch_size.shows_default = true;
  all.push_back({.field = &options.task, .name = "task", .kind = OptionKind::kRecorded});
  return all;
}

}  // namespace lockstep::run
