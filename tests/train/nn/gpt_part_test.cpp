// A GPT made of parts, and of layers that others supply.
#include "nn/gpt_part.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autograd/node.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "nn/gpt.hpp"
#include "nn/gpt_layers.hpp"
#include "nn/gpt_parameters.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using autograd::Variable;

namespace {

constexpr std::int64_t kBatch = 3, kPositions = 8;

nn::GptConfig config_with(bool checkpointing) {
  return {.vocabulary_size = 37,
          .channels = 32,
          .head_count = 4,
          .layer_count = 5,
          .context_length = 8,
          .dropout = 0.2,
          .activation_checkpointing = checkpointing};
}

Tensor tokens(int offset) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < kBatch * kPositions; ++i)
    ids.push_back(static_cast<std::int32_t>((i * i + 7 * i + offset) % 37));
  return Tensor::from<std::int32_t>(ids, {kBatch, kPositions});
}

const std::vector<std::int64_t> kSamples{5, 2, 9};

std::vector<float> elements(const Tensor& tensor) {
  const auto all = tensor.span<float>();
  return {all.begin(), all.end()};
}

nn::ForwardContext training() { return {.is_training = true, .seed = 3, .step = 4, .sample_ids = kSamples}; }

// Forward and backward through the parts, as the stages of a pipeline do it: each sends its sum, and gets its gradient.
double train(const std::vector<std::unique_ptr<nn::GptPart>>& parts) {
  struct Stage {
    Variable input, output;
  };
  std::vector<Stage> stages;
  Variable stream;
  for (const auto& part : parts) {
    const Variable output = part->forward(tokens(0), stream, training());
    stages.push_back({stream, output});
    if (!part->is_last()) stream = Variable::parameter(output.value().clone(), "stream");
  }
  const Variable loss = parts.back()->loss(stages.back().output, tokens(1));
  loss.backward();
  for (std::size_t s = parts.size() - 1; s > 0; --s)
    autograd::backward_from({{stages[s - 1].output, stages[s].input.gradient().clone()}});
  return loss.value().item();
}

std::map<std::string, Variable> by_name(const nn::Module& module) {
  std::map<std::string, Variable> all;
  for (const nn::NamedParameter& named : module.named_parameters()) all.emplace(named.name, named.parameter);
  return all;
}

// What whole_layers() makes, and how often.
class CountedLayers final : public nn::GptLayers {
 public:
  [[nodiscard]] std::unique_ptr<nn::Projection> wide(std::int64_t inputs, std::int64_t outputs, int packed,
                                                     const nn::InitScope& scope) const override {
    made.insert(concat("wide ", inputs, " to ", outputs, ", ", packed));
    return GptLayers::wide(inputs, outputs, packed, scope);
  }
  [[nodiscard]] std::unique_ptr<nn::Projection> narrow(std::int64_t inputs, std::int64_t outputs, double deviation,
                                                       const nn::InitScope& scope) const override {
    made.insert(concat("narrow ", inputs, " to ", outputs));
    return GptLayers::narrow(inputs, outputs, deviation, scope);
  }
  [[nodiscard]] std::unique_ptr<nn::TokenTable> table(const nn::GptConfig& config, nn::Owner owner,
                                                      const nn::InitScope& scope) const override {
    made.insert("table");
    return GptLayers::table(config, owner, scope);
  }

  mutable std::multiset<std::string> made;
};

}  // namespace

TEST_CASE("parts of a GPT have its parameters, once each, with its values", "[nn][parts]") {
  const nn::GptConfig config = config_with(false);
  const nn::Gpt whole(config, 7);
  const std::map<std::string, Variable> expected = by_name(whole);
  std::multiset<std::string> owned;
  for (const Range blocks : {Range{0, 1}, Range{1, 4}, Range{4, 5}}) {
    const nn::GptPart part(config, 7, blocks);
    for (const nn::NamedParameter& named : part.named_parameters()) {
      INFO(named.name);
      CHECK(elements(named.parameter.value()) == elements(expected.at(named.name).value()));
      if (named.is_owned) owned.insert(named.name);
    }
  }
  std::multiset<std::string> all;
  for (const nn::ParameterShape& parameter : nn::gpt_parameters(config)) all.insert(parameter.name);
  CHECK(owned == all);
}

TEST_CASE("a GPT in parts computes what the whole one computes, bit for bit", "[nn][parts]") {
  const bool checkpointing = GENERATE(false, true);
  const nn::GptConfig config = config_with(checkpointing);
  const nn::Gpt whole(config, 7);
  const Variable loss = whole.loss(tokens(0), tokens(1), training());
  loss.backward();
  const std::map<std::string, Variable> expected = by_name(whole);
  for (const std::vector<std::int64_t>& cuts : std::vector<std::vector<std::int64_t>>{{}, {2}, {1, 4}, {1, 2, 3, 4}}) {
    INFO(cuts.size() + 1 << " parts, checkpointing " << checkpointing);
    std::vector<std::unique_ptr<nn::GptPart>> parts;
    std::int64_t begin = 0;
    for (const std::int64_t cut : cuts)
      parts.push_back(std::make_unique<nn::GptPart>(config, 7, Range{std::exchange(begin, cut), cut}));
    parts.push_back(std::make_unique<nn::GptPart>(config, 7, Range{begin, config.layer_count}));
    CHECK(train(parts) == loss.value().item());
    for (const auto& part : parts) {
      for (const auto& [name, parameter] : by_name(*part)) {
        INFO(name);
        if (name == "wte.weight" && parts.size() > 1) continue;  // in two places, below
        CHECK(elements(parameter.gradient()) == elements(expected.at(name).gradient()));
      }
    }
    if (parts.size() == 1) continue;
    const std::vector<float> first = elements(parts.front()->table().weight().gradient());
    const std::vector<float> last = elements(parts.back()->table().weight().gradient());
    const std::vector<float> sum = elements(expected.at("wte.weight").gradient());
    for (std::size_t i = 0; i < sum.size(); ++i) CHECK(first[i] + last[i] == Approx(sum[i]).margin(1e-7));
  }
}

TEST_CASE("the layers of a GPT can be supplied", "[nn][parts]") {
  const nn::GptConfig config = config_with(false);
  const CountedLayers layers;
  const nn::GptPart model(config, 7, {0, 5}, layers);
  CHECK(layers.made.count("wide 32 to 96, 3") == 5);
  CHECK(layers.made.count("wide 32 to 128, 1") == 5);
  CHECK(layers.made.count("narrow 32 to 32") == 5);
  CHECK(layers.made.count("narrow 128 to 32") == 5);
  CHECK(layers.made.count("table") == 1);
  CHECK(layers.made.size() == 21);
  const nn::Gpt whole(config, 7);
  const Variable hidden = model.forward(tokens(0), {}, training());
  CHECK(model.loss(hidden, tokens(1)).value().item() == whole.loss(tokens(0), tokens(1), training()).value().item());
}

TEST_CASE("parts that do not exist, and questions to the wrong part, are refused", "[nn][parts]") {
  const nn::GptConfig config = config_with(false);
  for (const Range blocks : {Range{-1, 2}, Range{2, 2}, Range{3, 2}, Range{0, 6}}) {
    CHECK_THROWS_WITH(nn::GptPart(config, 7, blocks), ContainsSubstring("a GPT of 5 blocks has no part with blocks"));
  }
  const nn::GptPart first(config, 7, {0, 2}), middle(config, 7, {2, 3});
  CHECK_THROWS_AS(first.loss(Variable(), tokens(0)), ContractError);
  CHECK_THROWS_AS(middle.table(), ContractError);
  CHECK_THROWS_AS(first.forward(Tensor::zeros({1, 9}, DType::kInt32), {}), ContractError);
}
