#include "pretrained/language_model.hpp"

#include <cmath>
#include <limits>

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

TEST_CASE("weights that are not finite are refused by the first tensor's name", "[pretrained]") {
  const float bad = GENERATE(std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity());
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder / "gpt2", {});
  auto tensors = test::gpt2_tensors({"small", 259, 16, 2, 2, 12}, {});
  for (test::RawTensor& tensor : tensors)
    if (tensor.name.ends_with("h.1.ln_2.bias") || tensor.name.ends_with("ln_f.bias"))
      tensor.data.replace(12, 4, test::bytes_from<float>({bad}));
  test::write_raw(folder / "gpt2/model.safetensors", tensors);
  CHECK_THROWS_WITH(
      load_language_model(folder / "gpt2"),
      ContainsSubstring("tensor h.1.ln_2.bias has 1 of 16 elements that are not finite (the first, element 3, is ") &&
          ContainsSubstring(std::isnan(bad) ? "not a number" : "infinite"));
}

TEST_CASE("a head of its own that is missing, and a folder without its configuration, are named", "[pretrained]") {
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder / "gpt2", {});
  std::string config = read_file(folder / "gpt2/config.json");
  config.insert(1, R"("tie_word_embeddings":false,)");
  write_file(folder / "gpt2/config.json", config);
  CHECK_THROWS_WITH(load_language_model(folder / "gpt2"),
                    ContainsSubstring("\"tie_word_embeddings\": false, but there is no lm_head.weight"));
  test::write_gpt2_folder(folder / "with head", {.has_head = true});
  write_file(folder / "with head/config.json", config);
  CHECK_NOTHROW(load_language_model(folder / "with head"));
  for (const char* file : {"tokenizer.json", "vocab.json", "model.safetensors"}) {
    const auto alone = folder / concat("alone ", file);
    std::filesystem::create_directories(alone);
    write_file(alone / file, "{}");
    CHECK_THROWS_WITH(load_language_model(alone), ContainsSubstring(concat("has ", file, ", but no config.json")));
  }
}

TEST_CASE("a file that is a pointer or a web page says so, whichever it is", "[pretrained]") {
  const std::string file = GENERATE("config.json", "vocab.json", "model.safetensors");
  const test::TemporaryFolder folder;
  test::write_gpt2_folder(folder.path(), {});
  write_file(folder / file, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  CHECK_THROWS_WITH(load_language_model(folder.path()), ContainsSubstring(file + " is a Git LFS pointer"));
  write_file(folder / file, "<html><body>404</body></html>");
  CHECK_THROWS_WITH(load_language_model(folder.path()), ContainsSubstring(file + " is an HTML page"));
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
