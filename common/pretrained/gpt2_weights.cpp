#include "pretrained/gpt2_weights.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "nn/gpt_parameters.hpp"

namespace lockstep::pretrained {

namespace {

constexpr const char* kPrefix = "transformer.";
constexpr const char* kTable = "wte.weight";
constexpr const char* kHead = "lm_head.weight";

// "a, b, c, ... (12 more)": a wrong model has hundreds of wrong names.
std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) list += concat(", ... (", names.size() - kShown, " more)");
  return list;
}

std::string prefix_of(const checkpoint::TensorFiles& files) {
  return files.find(concat(kPrefix, kTable)) != nullptr ? kPrefix : "";
}

bool is_mask(const std::string& name) { return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"); }

// Names that are neither parameters nor what GPT-2's files have beside them.
std::vector<std::string> strange_names(const checkpoint::TensorFiles& files, const std::set<std::string>& parameters) {
  std::vector<std::string> names = files.names();
  std::erase_if(names,
                [&](const std::string& name) { return parameters.contains(name) || is_mask(name) || name == kHead; });
  return names;
}

void require_tied_head(const checkpoint::TensorFiles& files, const std::string& table) {
  if (files.find(kHead) == nullptr) return;
  const bool is_same = files.find(kHead)->shape == files.find(table)->shape &&
                       files.find(kHead)->type == files.find(table)->type &&
                       std::ranges::equal(files.bytes(kHead), files.bytes(table));
  if (is_same) return;
  throw FormatError(concat(files.path().string(), ": ", kHead, " differs from ", table,
                           ": the model's head is not tied to its token table, and this GPT has only one for both"));
}

}  // namespace

void require_gpt2_weights(const checkpoint::TensorFiles& files, const nn::GptConfig& config) {
  const std::string prefix = prefix_of(files);
  std::vector<std::string> missing;
  std::set<std::string> expected;
  for (const nn::ParameterShape& parameter : nn::gpt_parameters(config)) {
    const std::string name = prefix + parameter.name;
    expected.insert(name);
    if (files.find(name) == nullptr) {
      missing.push_back(name);
    } else {
      files.require_readable(name, parameter.shape, DType::kFloat32);
    }
  }
  const std::string where = files.path().string();
  if (!missing.empty()) {
    throw FormatError(concat(where, ": ", missing.size(), " tensors of a GPT-2 with ", config.layer_count,
                             " layers are missing: ", list_names(missing)));
  }
  const std::vector<std::string> strange = strange_names(files, expected);
  if (!strange.empty()) {
    throw FormatError(concat(where, ": ", strange.size(), " tensors belong to no GPT-2 with ", config.layer_count,
                             " layers: ", list_names(strange)));
  }
  require_tied_head(files, prefix + kTable);
}

void load_gpt2_weights(const checkpoint::TensorFiles& files, nn::Gpt& model) {
  require_gpt2_weights(files, model.config());
  const std::string prefix = prefix_of(files);
  for (const nn::NamedParameter& named : model.named_parameters()) {
    files.read_into(prefix + named.name, named.parameter.value());
  }
}

}  // namespace lockstep::pretrained
