#include "11_pipeline_parallel/gpt/borrowed_table.hpp"

#include <utility>

namespace lockstep::pipeline {
namespace {

// Another table, which is not registered as a child: its weights are no parameters of the module.
class BorrowedTable final : public nn::TokenTable {
 public:
  explicit BorrowedTable(std::unique_ptr<nn::TokenTable> table) : table_(std::move(table)) {
    (void)table_->parameters();  // listed: backward() does not take it for a layer that nobody trains
  }

  [[nodiscard]] Variable embed(const Tensor& tokens, const Variable& positions) const override {
    return table_->embed(tokens, positions);
  }
  [[nodiscard]] Variable loss(const Variable& hidden, const Tensor& targets) const override {
    return table_->loss(hidden, targets);
  }
  [[nodiscard]] const Variable& weight() const noexcept override { return table_->weight(); }

 private:
  std::unique_ptr<nn::TokenTable> table_;
};

}  // namespace

std::unique_ptr<nn::Projection> BorrowingLayers::wide(std::int64_t inputs, std::int64_t outputs, int packed,
                                                      const nn::InitScope& scope) const {
  return base_.wide(inputs, outputs, packed, scope);
}

std::unique_ptr<nn::Projection> BorrowingLayers::narrow(std::int64_t inputs, std::int64_t outputs, double deviation,
                                                        const nn::InitScope& scope) const {
  return base_.narrow(inputs, outputs, deviation, scope);
}

std::unique_ptr<nn::TokenTable> BorrowingLayers::table(const nn::GptConfig& config, nn::Owner owner,
                                                       const nn::InitScope& scope) const {
  auto table = base_.table(config, owner, scope);
  if (owner == nn::Owner::kThisRank) return table;
  return std::make_unique<BorrowedTable>(std::move(table));
}

std::unique_ptr<nn::Embedding> BorrowingLayers::positions(const nn::GptConfig& config,
                                                          const nn::InitScope& scope) const {
  return base_.positions(config, scope);
}

std::unique_ptr<nn::LayerNorm> BorrowingLayers::norm(std::int64_t channels, const nn::InitScope& scope) const {
  return base_.norm(channels, scope);
}

TableLoan::TableLoan(const nn::GptPart& part, StageLink* link) : link_(link), owns_(part.is_first()) {
  if (link_ != nullptr) weight_ = part.table().weight();
}

void TableLoan::lend() {
  if (link_ == nullptr || is_current_) return;
  is_current_ = true;
  if (owns_) return link_->send(weight_.value(), "values of wte");
  link_->expect(message("values of wte"));
  is_arriving_ = true;
}

void TableLoan::use() {
  if (!std::exchange(is_arriving_, false)) return;
  weight_.adopt_value(link_->receive());
}

void TableLoan::begin_step() {
  if (link_ == nullptr) return;
  if (owns_) return link_->expect(message("gradient of wte"));
  weight_.zero_grad();
}

void TableLoan::give_back() {
  if (link_ == nullptr || owns_) return;
  link_->send(weight_.gradient(), "gradient of wte");
  is_current_ = false;
}

void TableLoan::take_back() {
  if (link_ == nullptr || !owns_) return;
  Tensor gradient = link_->receive();
  if (weight_.requires_grad()) weight_.accumulate_gradient(std::move(gradient));
  is_current_ = false;
}

ExpectedTensor TableLoan::message(const char* tag) const {
  return {weight_.shape(), weight_.dtype(), weight_.device(), tag};
}

}  // namespace lockstep::pipeline
