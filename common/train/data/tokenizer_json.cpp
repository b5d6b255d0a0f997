#include "data/tokenizer_json.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/foreign_file.hpp"
#include "base/json.hpp"

namespace lockstep::data {

namespace {

using nlohmann::json;

std::string type_of(const json& object) {
  const bool has_type = object.is_object() && object.contains("type") && object["type"].is_string();
  return has_type ? object["type"].get<std::string>() : "none";
}

// Requires GPT-2's words and bytes: no normalizer, and only ByteLevel as pre-tokenizer.
void require_gpt2_kind(const json& content, const std::string& name) {
  const json model = content.value("model", json()), before = content.value("pre_tokenizer", json());
  const json normalizer = content.value("normalizer", json());
  const bool is_gpt2 = type_of(model) == "BPE" && type_of(before) == "ByteLevel" && normalizer.is_null() &&
                       before.value("use_regex", true) && !before.value("add_prefix_space", false);
  if (is_gpt2) return;
  throw FormatError(
      concat(name, " is a tokenizer of the kind ", type_of(model), " with the pre-tokenizer ", type_of(before),
             " and the normalizer ", type_of(normalizer),
             "; GPT-2's is BPE with ByteLevel (without add_prefix_space) and no normalizer, and only that "
             "is read here"));
}

// "a b", or ["a", "b"] since tokenizers 0.20.
std::string merges_text(const json& merges) {
  std::string text;
  for (const json& merge : merges)
    text += (merge.is_array() ? concat(merge.at(0).get<std::string>(), " ", merge.at(1).get<std::string>())
                              : merge.get<std::string>()) +
            "\n";
  return text;
}

}  // namespace

BytePairFiles files_from_tokenizer_json(std::string_view text, const std::string& folder) {
  const std::string name = concat(folder, "/", kTokenizerJsonFile);
  try {
    const json content = parse_json(text);
    require_gpt2_kind(content, name);
    json added = json::object();
    for (const json& token : content.value("added_tokens", json::array()))
      added[token.at("content").get<std::string>()] = token.at("id");
    return {.vocabulary = dump_json(content.at("model").at("vocab")),
            .merges = merges_text(content.at("model").at("merges")),
            .name = folder,
            .added = dump_json(added)};
  } catch (const json::exception& error) {
    if (const auto foreign = explain_foreign_file(text, kTokenizerJsonFile))
      throw FormatError(concat(name, " ", foreign->explanation));
    throw FormatError(concat(name, " is not what Hugging Face's tokenizers write: ", error.what()));
  }
}

}  // namespace lockstep::data
