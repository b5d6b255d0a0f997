#include "run/text_summary.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/file.hpp"
#include "nn/gpt.hpp"
#include "run/load_corpus.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

TEST_CASE("a run that trains a GPT counts tokens, and keeps what its data were", "[run]") {
  const test::TemporaryFolder folder;
  write_file(folder / "text.txt", std::string(4000, 'a'));
  run::TrainOptions options;
  options.data.path = folder / "text.txt";
  options.data.tokenizer = "bytes";
  options.batch_size = 4;
  options.model.dropout = 0.25;
  options.model.activation_checkpointing = true;
  const data::Corpus corpus = run::load_corpus(options);
  const nn::Gpt model(options.model.config(corpus.vocabulary_size), {1, Device{}});
  const run::RunSummary summary = run::summarize_text_run(options, corpus, model);

  CHECK(summary.parameters == model.parameter_count());
  CHECK(summary.tokens_per_sample == model.config().context_length);
  CHECK(summary.training_samples == corpus.training->size());
  CHECK(summary.validation_samples == corpus.validation->size());
  CHECK(run::label_of(options.task, summary) == "tiny");
  CHECK(summary.wants_sample);
  CHECK(summary.files.empty());  // bytes need no model of a tokenizer
  CHECK(summary.recorded ==
        nlohmann::json{{"vocabulary_size", 256}, {"data_fingerprint", corpus.fingerprint}, {"tokenizer_checksum", ""}});
  const run::Facts facts = run::describe(options, summary, run::Ranks(nullptr));
  CHECK(facts.at(0).second == "tiny: 842,496 parameters (4 layers, 4 heads, width 128, context 128, vocabulary 256)");
  CHECK_THAT(facts.at(1).second,
             ContainsSubstring(" as bytes: ") && ContainsSubstring(" validation samples of 128 tokens"));
  CHECK_THAT(facts.at(5).second, ContainsSubstring("AdamW, learning rate 0.002 falling to 0.0002") &&
                                     ContainsSubstring(", clip 1, dropout 0.25"));
  CHECK(facts.back().first == "memory");
  options.division = "pipeline 2 x data 1 x tensor 2";
  CHECK(run::describe(options, summary, run::Ranks(nullptr)).at(4) ==
        std::pair<std::string, std::string>("grid", options.division));
  CHECK_THAT(run::closing("run", {.division = options.division}),
             ContainsSubstring("  grid        pipeline 2 x data 1 x tensor 2\n"));
}
