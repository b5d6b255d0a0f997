#include "data/corpus.hpp"
#include "run/option_checks.hpp"
#include "run/option_rows.hpp"
#include "run/train_options.hpp"

namespace lockstep::run {
namespace {

OptionList model_options(ModelOptions& model) {
  return {
      fixed({&model.name, "--model", "Size of the model: tiny, small, tutorial or 124m", one_of(nn::GptConfig::names()),
             "NAME"}),
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
      fixed({&data.tokenizer, "--tokenizer",
             "bytes, sentencepiece or sentencepiece:PIECES (learned from the text), FILE.model, or numbers (bytes of a "
             "text, numbers of other data if left out)",
             tokenizer_spec(), "NAME"}),
      fixed(without_default({&data.vocabulary_size, "--vocabulary-size",
                             "Tokens in the model's vocabulary (as many as model and tokenizer need if left out)",
                             whole_number(1, INT32_MAX)})),
      {.field = &data.windows,
       .name = "--windows",
       .help = "Which stretches of the text are samples: fixed, one behind the other, or random, drawn anew for each "
               "epoch (as nanoGPT)",
       .check = one_of({"fixed", "random"}),
       .value_name = "NAME",
       .kind = OptionKind::kFixed,
       .is_new = true},
      {&data.num_workers, "--num-workers", "Threads that prepare batches", whole_number(1, 64)},
      {.field = &data.tokenizer_checksum, .name = "tokenizer_checksum", .kind = OptionKind::kRecorded},
      {.field = &data.fingerprint, .name = "data_fingerprint", .kind = OptionKind::kRecorded},
  };
}

OptionList text_options(TextOptions& text) {
  return {
      {&text.prompt, "--prompt", "Beginning of the text generated at the end"},
      {&text.sample_tokens, "--sample-tokens", "Length of the text generated at the end; 0 for none", whole_number(0)},
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
