#include "data/corpus.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "data/sentence_piece.hpp"
#include "data/text.hpp"
#include "data/token_file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

// The tokens of a dataset's samples in order, as a text.
std::string text_of(const Dataset& dataset, const Tokenizer& tokenizer) {
  std::string text;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const std::vector<std::int64_t> index{i};
    const Batch batch = dataset.batch(index);
    text += tokenizer.decode(batch.inputs.span<std::int32_t>());
  }
  return text;
}

std::string counting_text() {
  std::string text;
  for (int i = 0; i < 400; ++i) text += concat("line ", i, " of the text\n");
  return text;
}

}  // namespace

TEST_CASE("a text's first nine tenths train and the rest validates, with any tokenizer", "[data][corpus]") {
  const test::TemporaryFolder folder;
  const std::string text = counting_text();
  write_file(folder / "text", text);
  const auto tokenizer = GENERATE(0, 1) == 0
                             ? byte_tokenizer()
                             : sentence_piece_tokenizer(train_sentence_piece(counting_text(), 300, "text"), "text");
  const Corpus corpus = load_corpus({.data = folder / "text", .context_length = 8, .vocabulary_size = 500}, tokenizer);
  CHECK(corpus.vocabulary_size == 500);
  const TextParts parts = split_text(text, "text");
  const std::string training = text_of(*corpus.training, *tokenizer);
  const std::string validation = text_of(*corpus.validation, *tokenizer);
  CHECK(parts.training.starts_with(training));
  CHECK(parts.validation.starts_with(validation));
  // Less is left out than a sample of 8 tokens and one more; no piece is longer than a line.
  CHECK(parts.training.size() - training.size() <= 9 * 22);
  CHECK(text_to_learn_from({.data = folder / "text"}) == parts.training);
}

TEST_CASE("a text of one's own validates where it is named", "[data][corpus]") {
  const test::TemporaryFolder folder;
  write_file(folder / "a", std::string(101, 'a'));
  write_file(folder / "b", std::string(41, 'b'));
  const CorpusOptions options{
      .data = folder / "a", .validation_data = folder / "b", .context_length = 10, .vocabulary_size = 256};
  const Corpus corpus = load_corpus(options, byte_tokenizer());
  CHECK(text_of(*corpus.training, *byte_tokenizer()) == std::string(100, 'a'));
  CHECK(text_of(*corpus.validation, *byte_tokenizer()) == std::string(40, 'b'));
  CHECK(text_to_learn_from(options).size() == 101);
  write_file(folder / "b", std::string(41, 'c'));
  CHECK(load_corpus(options, byte_tokenizer()).fingerprint != corpus.fingerprint);
}

TEST_CASE("a token file is split as a text is, or validated by another", "[data][corpus]") {
  const test::TemporaryFolder folder;
  const std::string text = counting_text();
  write_token_file(folder / "a.bin", encode_bytes(text));
  write_token_file(folder / "b.bin", encode_bytes("0123456789"));
  CorpusOptions options{.data = folder / "a.bin", .context_length = 4, .vocabulary_size = 256};
  const Corpus split = load_corpus(options, byte_tokenizer());
  CHECK(split_text(text, "text").training.starts_with(text_of(*split.training, *byte_tokenizer())));
  CHECK(split_text(text, "text").validation.starts_with(text_of(*split.validation, *byte_tokenizer())));
  options.validation_data = folder / "b.bin";
  const Corpus two = load_corpus(options, byte_tokenizer());
  CHECK(text.starts_with(text_of(*two.training, *byte_tokenizer())));
  CHECK(two.training->size() > split.training->size());
  CHECK(text_of(*two.validation, *byte_tokenizer()) == "01234567");
  CHECK(two.fingerprint != split.fingerprint);
}

TEST_CASE("random data are made of the model's vocabulary, and validation samples are others of the same rule",
          "[data][corpus]") {
  const Corpus corpus =
      load_corpus({.data = kRandomData, .context_length = 16, .vocabulary_size = 50, .seed = 3}, number_tokenizer());
  const std::vector<std::int64_t> first{0};
  const Batch training = corpus.training->batch(first), validation = corpus.validation->batch(first);
  const auto a = training.inputs.span<std::int32_t>(), b = validation.inputs.span<std::int32_t>();
  CHECK_FALSE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  for (const std::int32_t id : b) CHECK((id >= 0 && id < 50));
}

TEST_CASE("data, tokenizer and model that do not go together are an error that says what would", "[data][corpus]") {
  const test::TemporaryFolder folder;
  write_file(folder / "text", counting_text());
  write_token_file(folder / "a.bin", encode_bytes(counting_text()));
  CorpusOptions options{.data = folder / "text", .context_length = 8, .vocabulary_size = 100};
  CHECK_THROWS_AS(load_corpus(options, byte_tokenizer()), UsageError);
  CHECK_THROWS_WITH(load_corpus(options, byte_tokenizer()),
                    ContainsSubstring("--vocabulary-size 100 is too small for the 256 tokens") &&
                        ContainsSubstring("use 256 or more"));
  const CorpusOptions one_token{.data = kRandomData, .context_length = 8, .vocabulary_size = 1};
  CHECK_THROWS_AS(load_corpus(one_token, number_tokenizer()), UsageError);
  CHECK_THROWS_WITH(load_corpus(one_token, number_tokenizer()), ContainsSubstring("--vocabulary-size 1 is too small"));
  options.vocabulary_size = 256;
  CHECK_THROWS_WITH(load_corpus(options, number_tokenizer()), ContainsSubstring("is a text"));
  options.validation_data = folder / "a.bin";
  CHECK_THROWS_WITH(load_corpus(options, byte_tokenizer()), ContainsSubstring("of different kinds"));
  CHECK_THROWS_WITH(text_to_learn_from({.data = folder / "a.bin"}), ContainsSubstring("is not a text"));
  CHECK(usual_tokenizer(folder / "a.bin") == "numbers");
  CHECK(usual_tokenizer(folder / "text") == "bytes");
  CHECK(usual_tokenizer("") == "bytes");
  CHECK(usual_tokenizer("random") == "numbers");
}
