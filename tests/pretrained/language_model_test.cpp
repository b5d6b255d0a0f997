#include "pretrained/language_model.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "pretrained/gpt2_layout.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::pretrained;

TEST_CASE("a folder as Hugging Face publishes GPT-2 becomes a model and its tokenizer", "[pretrained]") {
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder / "small", {.type = "F16", .mask_type = "BOOL", .has_head = true});
  CHECK(is_hugging_face_folder(folder / "small"));
  CHECK_FALSE(is_hugging_face_folder(folder.path()));
  const LanguageModel loaded = load_language_model(folder / "small");
  CHECK(loaded.model->config().name == "small");
  CHECK(loaded.model->parameter_count() == nn::gpt_parameter_count(loaded.model->config()));
  const auto values = loaded.model->parameters().front().value().span<float>();
  for (std::size_t i = 0; i < 100; ++i) CHECK(values[i] == test::element_of(0, static_cast<std::int64_t>(i), "F16"));
  CHECK(loaded.tokenizer->encode("the<|endoftext|>") == std::vector<std::int32_t>{257, 258});
  CHECK(loaded.prompt == "<|endoftext|>");
  CHECK(loaded.tokenizer->end_of_text() == 258);
}

TEST_CASE("what is missing in a folder is named", "[pretrained]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_AS(load_language_model(folder.path()), IoError);
  for (const std::string file : {"model.safetensors", "vocab.json", "merges.txt"}) {
    const auto copy = folder / ("without_" + file);
    test::write_gpt2_folder(copy, {});
    std::filesystem::remove(copy / file);
    CHECK_THROWS_WITH(load_language_model(copy), ContainsSubstring(file));
  }
}

TEST_CASE("a tokenizer with more tokens than the model is refused", "[pretrained]") {
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder.path(), {});
  std::string vocabulary = read_file(folder / "vocab.json");
  vocabulary.insert(vocabulary.size() - 1, R"(, "one too many": 259)");
  write_file(folder / "vocab.json", vocabulary);
  CHECK_THROWS_WITH(load_language_model(folder.path()), ContainsSubstring("stands for no byte"));
  vocabulary.replace(vocabulary.find("one too many"), 12, "one_too_many");
  write_file(folder / "vocab.json", vocabulary);
  CHECK_THROWS_WITH(load_language_model(folder.path()), ContainsSubstring("260 tokens, the model only 259"));
}
