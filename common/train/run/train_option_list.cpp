#include "data/corpus.hpp"
#include "run/option_checks.hpp"
#include "run/train_options.hpp"

namespace lockstep::run {
namespace {

OptionList model_options(ModelOptions& model) {
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

OptionList data_options(DataOptions& data) {
  return {
      {.field = &data.path,
       .name = "--data",
       .help = "Text to train on, or a file of tokens (.bin), or random (the course text if left out)",
       .check = readable_file_or(data::kRandomData),
       .value_name = "FILE"},  // a resumed run compares the content, and the file may have been moved

      {.field = &data.validation_path,
       .name = "--validation-data",
       .help = "Text or file of tokens to validate with (the last tenth of --data if left out)",
       .check = readable_file(),
       .value_name = "FILE"},
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

OptionList text_options(TextOptions& text) {
  return {
      {.field = &text.prompt, .name = "--prompt", .help = "Beginning of the text generated at the end"},
      {.field = &text.sample_tokens,
       .name = "--sample-tokens",
       .help = "Length of the text generated at the end; 0 for none",
       .check = whole_number(0)},
  };
}

}  // namespace

OptionList list_options(TrainOptions& options) {
  return join({data_options(options.data), model_options(options.model), loop_options(options),
               optimizer_options(options.optimizer), learning_rate_options(options.learning_rate),
               device_options(options.device), parallel_options(options.parallel),
               checkpoint_options(options.checkpoints), output_options(options.output), text_options(options.text)});
}

}  // namespace lockstep::run
