#include "pretrained/gpt2_weights.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
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

// The prefixes that wrappers add to a name, in any order and number.
std::string wrappers_of(std::string_view name) {
  std::string wrappers;
  for (bool is_wrapped = true; is_wrapped;) {
    is_wrapped = false;
    for (const std::string_view wrapper : {"module.", "_orig_mod."}) {
      if (!name.starts_with(wrapper)) continue;
      wrappers += wrapper;
      name.remove_prefix(wrapper.size());
      is_wrapped = true;
    }
  }
  return wrappers;
}

// The prefixes of our model's names, and of the head's.
struct Prefixes {
  std::string weights, head;
};

Prefixes prefixes_of(const checkpoint::TensorFiles& files) {
  for (const std::string& name : files.names()) {
    const std::string wrappers = wrappers_of(name);
    const std::string rest = name.substr(wrappers.size());
    if (rest == kTable) return {wrappers, wrappers};
    // torch.compile(model.transformer) wraps inside the model.
    const std::string inner =
        rest.starts_with(kPrefix) ? wrappers_of(rest.substr(std::string_view(kPrefix).size())) : "";
    if (rest == kPrefix + inner + kTable) return {wrappers + kPrefix + inner, wrappers};
  }
  return {"", ""};
}

bool is_mask(const std::string& name) { return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"); }

// Names that are neither parameters nor other tensors known from GPT-2's files.
std::vector<std::string> strange_names(const checkpoint::TensorFiles& files, const std::set<std::string>& parameters,
                                       const std::string& head) {
  std::vector<std::string> names = files.names();
  std::erase_if(names,
                [&](const std::string& name) { return parameters.contains(name) || is_mask(name) || name == head; });
  return names;
}

void require_tied_head(const checkpoint::TensorFiles& files, const std::string& table, const std::string& head,
                       Head said) {
  const bool is_there = files.find(head) != nullptr;
  if (!is_there && said == Head::kOwn) {
    throw FormatError(concat(files.path().string(),
                             ": config.json says \"tie_word_embeddings\": false, but there is no ", head,
                             ", which the model's head would then be; if it is the token table, set it to true"));
  }
  if (!is_there || files.are_equal(head, table)) return;
  throw FormatError(concat(files.path().string(), ": ", head, " differs from ", table,
                           ": the model's head is not tied to its token table, and this GPT has only one for both"));
}

// GPT-2's matrices are [inputs, outputs]; nanoGPT and others store them as nn.Linear does, [outputs, inputs].
void require_not_transposed(const checkpoint::TensorFiles& files, const std::string& name, const Shape& expected) {
  const Shape& found = files.find(name)->shape;
  const bool is_matrix =
      name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") || name.ends_with("c_fc.weight");
  const bool is_transposed = is_matrix && expected.rank() == 2 && found.rank() == 2 && expected[0] != expected[1] &&
                             found[0] == expected[1] && found[1] == expected[0];
  if (!is_transposed) return;
  throw FormatError(
      concat(files.path().string(), ": tensor ", name, " is ", found, ", expected ", expected,
             ": it is transposed, as nn.Linear keeps its weights. Transpose the weights of c_attn, c_proj "
             "and c_fc in each layer (in Python: w.t().contiguous()) and save the file again"));
}

}  // namespace

void require_gpt2_weights(const checkpoint::TensorFiles& files, const nn::GptConfig& config, Head head) {
  const Prefixes prefixes = prefixes_of(files);
  const std::string &prefix = prefixes.weights, head_name = prefixes.head + kHead;
  std::vector<std::string> missing;
  std::set<std::string> expected;
  for (const nn::ParameterShape& parameter : nn::gpt_parameters(config)) {
    const std::string name = prefix + parameter.name;
    expected.insert(name);
    if (files.find(name) == nullptr) {
      missing.push_back(name);
    } else {
      require_not_transposed(files, name, parameter.shape);
      files.require_readable(name, parameter.shape, DType::kFloat32);
    }
  }
  const std::string where = files.path().string();
  if (!missing.empty()) {
    throw FormatError(concat(where, ": ", missing.size(), " tensors of a GPT-2 with ", config.layer_count,
                             " layers are missing: ", list_names(missing)));
  }
  const std::vector<std::string> strange = strange_names(files, expected, head_name);
  if (!strange.empty()) {
    throw FormatError(concat(where, ": ", strange.size(), " tensors belong to no GPT-2 with ", config.layer_count,
                             " layers: ", list_names(strange)));
  }
  require_tied_head(files, prefix + kTable, head_name, head);
}

void load_gpt2_weights(const checkpoint::TensorFiles& files, nn::Gpt& model) {
  require_gpt2_weights(files, model.config());
  const std::string prefix = prefixes_of(files).weights;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    files.read_into(prefix + named.name, named.parameter.value());
  }
}

}  // namespace lockstep::pretrained
