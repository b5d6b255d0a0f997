#include "run/option_list.hpp"

#include <algorithm>

#include "data/corpus.hpp"
#include "run/comparison.hpp"
#include "run/option_checks.hpp"

namespace lockstep::run {
namespace {

using List = std::vector<OptionDeclaration>;

List model_options(ModelOptions& model) {
  return {
      {.field = &model.name,
       .name = "--model",
       .help = "Size of the model: tiny, small, tutorial or 124m",
       .check = one_of(nn::GptConfig::names()),
       .value_name = "NAME",
       .kind = OptionKind::kFixed},
      {.field = &model.dropout,
       .name = "--dropout",
       .help = "Share of activations dropped in training",
       .check = real_number(0, 0.99)},
      {.field = &model.bf16,
       .name = "--bf16",
       .help = "Compute activations and matrix products in bfloat16; weights, gradients and updates stay float32"},
      {.field = &model.activation_checkpointing,
       .name = "--activation-checkpointing",
       .help = "Compute each block's activations again in backward: less memory, a third more time"},
  };
}

List data_options(DataOptions& data) {
  return {
      {.field = &data.path,
       .name = "--data",
       .help = "Text to train on, or a file of tokens (.bin), or random (the course text if left out)",
       .check = readable_file_or(data::kRandomData),
       .value_name = "FILE",
       .kind = OptionKind::kFixed},
      {.field = &data.validation_path,
       .name = "--validation-data",
       .help = "Text or file of tokens to validate with (the last tenth of --data if left out)",
       .check = readable_file(),
       .value_name = "FILE",
       .kind = OptionKind::kFixed},
      {.field = &data.tokenizer,
       .name = "--tokenizer",
       .help = "bytes, sentencepiece or sentencepiece:PIECES (learned from the text), FILE.model, or numbers "
               "(bytes of a text, numbers of other data if left out)",
       .check = tokenizer_spec(),
       .value_name = "NAME",
       .kind = OptionKind::kFixed},
      {.field = &data.vocabulary_size,
       .name = "--vocabulary-size",
       .help = "Tokens in the model's vocabulary (as many as model and tokenizer need if left out)",
       .check = whole_number(1, INT32_MAX),
       .shows_default = false,
       .kind = OptionKind::kFixed},
      {.field = &data.windows,
       .name = "--windows",
       .help = "Which stretches of the text are samples: fixed, one behind the other, or random, drawn anew for each "
               "epoch (as nanoGPT)",
       .check = one_of({"fixed", "random"}),
       .value_name = "NAME",
       .kind = OptionKind::kFixed,
       .is_new = true},
      {.field = &data.num_workers,
       .name = "--num-workers",
       .help = "Threads that prepare batches",
       .check = whole_number(1, 64)},
      {.field = &data.tokenizer_checksum, .name = "tokenizer_checksum", .kind = OptionKind::kRecorded},
      {.field = &data.fingerprint, .name = "data_fingerprint", .kind = OptionKind::kRecorded},
  };
}

List loop_options(TrainOptions& options) {
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
       .help = "Passes over the text, in place of --steps",
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

List optimizer_options(OptimizerOptions& optimizer) {
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

List learning_rate_options(LearningRateOptions& learning_rate) {
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

List device_options(DeviceOptions& device) {
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

List parallel_options(ParallelOptions& parallel) {
  return {
      {.field = &parallel.backend,
       .name = "--backend",
       .help = "How ranks communicate: star, ring, nccl, gloo or mpi (if left out nccl with --device cuda, else ring)",
       .check = one_of({"star", "ring", "nccl", "gloo", "mpi"}),
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

List checkpoint_options(CheckpointOptions& checkpoints) {
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

List output_options(OutputOptions& output) {
  return {
      {.field = &output.folder,
       .name = "--out",
       .help = "Folder in which the run gets a folder of its own",
       .value_name = "FOLDER"},
      {.field = &output.validate_every,
       .name = "--validate-every",
       .help = "Steps between measurements of the validation loss; 0 measures only at the end",
       .check = whole_number(0)},
      {.field = &output.prompt, .name = "--prompt", .help = "Beginning of the text generated at the end"},
      {.field = &output.sample_tokens,
       .name = "--sample-tokens",
       .help = "Length of the text generated at the end; 0 for none",
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

}  // namespace

std::string OptionDeclaration::json_name() const {
  std::string text = name.substr(0, name.find(','));
  text.erase(0, text.find_first_not_of('-'));
  std::ranges::replace(text, '-', '_');
  return text;
}

std::vector<OptionDeclaration> list_options(TrainOptions& options) {
  List all;
  for (const List& topic : {data_options(options.data), model_options(options.model), loop_options(options),
                            optimizer_options(options.optimizer), learning_rate_options(options.learning_rate),
                            device_options(options.device), parallel_options(options.parallel),
                            checkpoint_options(options.checkpoints), output_options(options.output)}) {
    all.insert(all.end(), topic.begin(), topic.end());
  }
  return all;
}

}  // namespace lockstep::run
