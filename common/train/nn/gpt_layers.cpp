#include "nn/gpt_layers.hpp"

#include "autograd/functions.hpp"

namespace lockstep::nn {

using autograd::Variable;

namespace {

class WholeTable final : public TokenTable {
 public:
  WholeTable(const GptConfig& config, Owner owner, const InitScope& scope)
      : weight_(register_part("weight", scope.normal("weight", shape_of(config), 0.02), Slice::of(shape_of(config)),
                              owner)) {}

  [[nodiscard]] Variable embed(const Tensor& tokens, const Variable& positions) const override {
    return autograd::embedding(tokens, weight_, positions);
  }
  [[nodiscard]] Variable loss(const Variable& hidden, const Tensor& targets) const override {
    return autograd::head_cross_entropy(hidden, weight_, targets);
  }
  [[nodiscard]] const Variable& weight() const noexcept override { return weight_; }

 private:
  static Shape shape_of(const GptConfig& config) { return {config.vocabulary_size, config.channels}; }

  Variable weight_;
};

}  // namespace

std::unique_ptr<Projection> GptLayers::wide(std::int64_t inputs, std::int64_t outputs, int /*packed*/,
                                            const InitScope& scope) const {
  return std::make_unique<Conv1D>(inputs, outputs, scope);
}

std::unique_ptr<Projection> GptLayers::narrow(std::int64_t inputs, std::int64_t outputs, double deviation,
                                              const InitScope& scope) const {
  return std::make_unique<Conv1D>(inputs, outputs, scope, deviation);
}

std::unique_ptr<TokenTable> GptLayers::table(const GptConfig& config, Owner owner, const InitScope& scope) const {
  return std::make_unique<WholeTable>(config, owner, scope);
}

std::unique_ptr<Embedding> GptLayers::positions(const GptConfig& config, const InitScope& scope) const {
  return std::make_unique<Embedding>(config.context_length, config.channels, scope);
}

std::unique_ptr<LayerNorm> GptLayers::norm(std::int64_t channels, const InitScope& scope) const {
  return std::make_unique<LayerNorm>(channels, scope);
}

StreamShare GptLayers::stream_share() const { return {}; }

Range GptLayers::heads(const GptConfig& config) const { return {0, config.head_count}; }

const GptLayers& whole_layers() {
  static const GptLayers kLayers;
  return kLayers;
}

}  // namespace lockstep::nn
