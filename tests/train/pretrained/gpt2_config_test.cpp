#include "pretrained/gpt2_config.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::pretrained;

namespace {

// As published with "gpt2".
constexpr const char* kPublished = R"({
  "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
  "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
  "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
  "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
  "summary_type": "cls_index", "summary_use_proj": true,
  "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257
})";

std::string refusal(const std::string& text) {
  try {
    (void)parse_gpt2_config(text, "models/gpt2/config.json");
    return "";
  } catch (const FormatError& error) {
    return error.what();
  }
}

std::string with(const char* entry, const nlohmann::json& value) {
  nlohmann::json config = parse_json(kPublished);
  config[entry] = value;
  return refusal(dump_json(config));
}

}  // namespace

TEST_CASE("the published configuration is GPT-2's smallest", "[pretrained]") {
  const nn::GptConfig config = parse_gpt2_config(kPublished, "models/gpt2/config.json");
  CHECK(config.name == "gpt2");
  CHECK(config.vocabulary_size == 50257);
  CHECK(config.channels == 768);
  CHECK(config.head_count == 12);
  CHECK(config.layer_count == 12);
  CHECK(config.context_length == 1024);
  CHECK(config.dropout == 0);
}

TEST_CASE("what a configuration leaves out is as transformers have it", "[pretrained]") {
  const nn::GptConfig config = parse_gpt2_config(R"({"model_type":"gpt2","n_layer":24,"n_inner":null})", "config.json");
  CHECK(config.name == "gpt2");
  CHECK(config.layer_count == 24);
  CHECK(config.channels == 768);
}

TEST_CASE("a variant that our GPT does not compute is refused by its entry", "[pretrained]") {
  CHECK_THAT(with("model_type", "llama"), ContainsSubstring("models/gpt2/config.json: model_type is \"llama\""));
  CHECK_THAT(with("activation_function", "relu"), ContainsSubstring("activation_function is \"relu\""));
  CHECK_THAT(with("activation_function", "gelu"), ContainsSubstring("expected \"gelu_new\""));
  CHECK_THAT(with("layer_norm_epsilon", 1e-6), ContainsSubstring("layer_norm_epsilon is 1e-06"));
  CHECK_THAT(with("scale_attn_weights", false), ContainsSubstring("scale_attn_weights is false"));
  CHECK_THAT(with("scale_attn_by_inverse_layer_idx", true), ContainsSubstring("scale_attn_by_inverse_layer_idx"));
  CHECK_THAT(with("add_cross_attention", true), ContainsSubstring("add_cross_attention"));
  CHECK_THAT(with("n_inner", 1000), ContainsSubstring("n_inner is 1000, expected 3072"));
  CHECK_THAT(with("n_head", 7), ContainsSubstring("n_embd is 768, expected a multiple of n_head, which is 7"));
  CHECK(with("n_inner", 3072).empty());
  CHECK(with("activation_function", "gelu_pytorch_tanh").empty());
}

TEST_CASE("whether the head is the token table is read from the configuration", "[pretrained]") {
  CHECK_FALSE(has_untied_head("{}", "c"));
  CHECK_FALSE(has_untied_head(R"({"tie_word_embeddings": true})", "c"));
  CHECK(has_untied_head(R"({"tie_word_embeddings": false})", "c"));
  CHECK_THROWS_WITH(has_untied_head(R"({"tie_word_embeddings": "no"})", "c"),
                    ContainsSubstring("tie_word_embeddings is \"no\", expected true or false"));
}

TEST_CASE("sizes that are none are refused", "[pretrained]") {
  CHECK_THAT(with("n_layer", 16'777'216), ContainsSubstring("n_layer is 16777216, expected a number from 1 to 10000"));

  CHECK_THAT(with("n_layer", 0), ContainsSubstring("n_layer is 0, expected a number from 1"));
  CHECK_THAT(with("n_layer", -3), ContainsSubstring("n_layer is -3"));
  CHECK_THAT(with("n_embd", "768"), ContainsSubstring("n_embd is \"768\""));
  CHECK_THAT(with("vocab_size", 1e30), ContainsSubstring("vocab_size"));
  CHECK_THAT(with("n_positions", 1.5), ContainsSubstring("n_positions is 1.5"));
  CHECK_THAT(refusal("[1]"), ContainsSubstring("is not a JSON object"));
  CHECK_THAT(refusal("{"), ContainsSubstring("config.json"));
}
