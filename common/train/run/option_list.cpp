#include "run/option_list.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/byte_count.hpp"
#include "data/corpus.hpp"
#include "run/comparison.hpp"
#include "run/option_checks.hpp"
#include "run/train_options.hpp"

namespace lockstep::run {
namespace {

// A row: field, name, help, check, name of the value.
using Row = OptionDeclaration;

// May not change when a run is resumed.
Row unchangeable(Row row) {
  row.kind = OptionKind::kFixed;
  return row;
}

Row this_time(Row row) {
  row.kind = OptionKind::kThisTime;
  return row;
}

Row recorded(OptionField field, std::string name) {
  return {.field = field, .name = std::move(name), .kind = OptionKind::kRecorded};
}

// The default stands for something else, which the help explains.
Row without_default(Row row) {
  row.shows_default = false;
  return row;
}

OptionList model_options(ModelOptions& model) {
  return {
      unchangeable({&model.name, "--model", "Size of the model: tiny, small, tutorial or 124m",
                    one_of(nn::GptConfig::names()), "NAME"}),
      {&model.dropout, "--dropout", "Share of activations dropped in training", real_number(0, 0.99)},
      {&model.bf16, "--bf16",
       "Compute activations and matrix products in bfloat16; weights, gradients and updates stay float32"},
      {&model.activation_checkpointing, "--activation-checkpointing",
       "Compute each block's activations again in backward: less memory, a third more time"},
  };
}

OptionList data_options(DataOptions& data) {
  return {
      // Resuming compares the content, so the file may have been moved.
      {&data.path, "--data", "Text to train on, or a file of tokens (.bin), or random (the course text if left out)",
       readable_file_or(data::kRandomData), "FILE"},
      {&data.validation_path, "--validation-data",
       "Text or file of tokens to validate with (the last tenth of --data if left out)", readable_file(), "FILE"},
      unchangeable(
          {&data.tokenizer, "--tokenizer",
           "bytes, sentencepiece or sentencepiece:PIECES (learned from the text), FILE.model, or numbers (bytes of a "
           "text, numbers of other data if left out)",
           tokenizer_spec(), "NAME"}),
      unchangeable(
          without_default({&data.vocabulary_size, "--vocabulary-size",
                           "Tokens in the model's vocabulary (as many as model and tokenizer need if left out)",
                           whole_number(1, INT32_MAX)})),
      {.field = &data.windows,
       .name = "--windows",
       .help = "Which stretches of the text are samples: fixed, one after the other, or random, drawn anew for each "
               "epoch (as in nanoGPT)",
       .check = one_of({"fixed", "random"}),
       .value_name = "NAME",
       .kind = OptionKind::kFixed,
       .is_new = true},
      {&data.num_workers, "--num-workers", "Threads that prepare batches", whole_number(1, 64)},
      recorded(&data.tokenizer_checksum, "tokenizer_checksum"),
      recorded(&data.fingerprint, "data_fingerprint"),
  };
}

OptionList text_options(TextOptions& text) {
  return {
      {&text.prompt, "--prompt", "Beginning of the text generated at the end"},
      {&text.sample_tokens, "--sample-tokens", "Length of the text generated at the end; 0 for none", whole_number(0)},
  };
}

}  // namespace

OptionList loop_options(RunOptions& options) {
  return {
      unchangeable(without_default({&options.batch_size, "--batch-size",
                                    "Samples per step, over all ranks together (the model's usual number if left out)",
                                    whole_number(1)})),
      {&options.accumulation_steps, "--accumulation-steps",
       "Parts in which each rank works through its share of a step's batch, to need less memory", whole_number(1)},
      {&options.steps, "--steps", "Updates in all", whole_number(1)},
      without_default({&options.epochs, "--epochs", "Passes over the data, in place of --steps", whole_number(1)}),
      {&options.uneven, "--uneven",
       "Use every sample of an epoch exactly once: the last batches may be smaller, or empty on some ranks"},
      unchangeable({&options.seed, "--seed", "Seed of initial weights, sample order and dropout", whole_number(0)}),
      this_time(without_default({&options.stop_after, "--stop-after",
                                 "Stop after this step as if interrupted, ready to --resume", whole_number(1)})),
  };
}

OptionList optimizer_options(OptimizerOptions& optimizer) {
  return {
      unchangeable({&optimizer.name, "--optimizer", "What turns gradients into updates: adamw, adam or sgd",
                    one_of({"adamw", "adam", "sgd"}), "NAME"}),
      unchangeable({&optimizer.momentum, "--momentum", "Share of its last step that sgd keeps; 0 keeps none",
                    real_number(0, 0.9999)}),
      unchangeable({&optimizer.nesterov, "--nesterov", "sgd looks one step of momentum ahead"}),
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
                 "Let several ranks of a host use one GPU if it has fewer GPUs than ranks"}),
      {&device.bind_cores, "--bind-cores", "Give each rank its own share of the host's processors, and keep it there"},
      this_time(without_default(
          {&device.memory_limit, "--memory-limit",
           "Most memory of the device that a rank may take for tensors and communication, such as 200MiB or 1.5GiB: "
           "the CPU plays a small GPU (no limit if left out)",
           byte_count(), "BYTES"})),
      {.field = &device.matmul_algorithms,
       .name = "--matmul-algorithms",
       .help = "Which of cuBLASLt's algorithms multiply matrices on a GPU: first (the library's suggestion), timed (of "
               "its suggestions the fastest, found when a product is first needed), or those of a table that a timed "
               "run has written",
       .check = matmul_algorithms(),
       .value_name = "NAME",
       .is_new = true},
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
      {.field = &output.tensorboard,
       .name = "--tensorboard",
       .help = "Write the numbers of metrics.jsonl for TensorBoard too: event files in the run's folder",
       .is_new = true},
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
  all.push_back(recorded(&options.task, "task"));
  return all;
}

OptionList list_options(TrainOptions& options) {
  return join({data_options(options.data), model_options(options.model), loop_options(options),
               optimizer_options(options.optimizer), learning_rate_options(options.learning_rate),
               device_options(options.device), parallel_options(options.parallel),
               checkpoint_options(options.checkpoints), output_options(options.output), text_options(options.text)});
}

}  // namespace lockstep::run
