#include "11_pipeline_parallel/gpt/gpt_stage.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "autograd/autocast.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace lockstep::pipeline {
namespace {

using Direction = MessageOrder::Message::Direction;

std::string tag_of(Pass pass, int micro_batch) { return concat(pass == Pass::kForward ? "F" : "B", micro_batch); }

}  // namespace

GptStage::GptStage(const nn::GptPart& part, StageLinks& links)
    : part_(part), links_(links), table_(part, links.table.get()) {}

void GptStage::begin(std::span<const run::MicroBatch> micro_batches, std::span<const Action> actions,
                     StageObserver observer) {
  micro_batches_ = micro_batches;
  observer_ = std::move(observer);
  loss_ = 0;
  backwards_left_ = static_cast<std::size_t>(std::ranges::count(actions, Pass::kBackward, &Action::pass));
  table_.lend();
  if (backwards_left_ > 0) {
    table_.begin_step();
    most_held_ = 0;
  }
  messages_ = MessageOrder(actions, is_first(), is_last());
  for (const Action& action : actions) announce(action);
}

double GptStage::finish() {
  messages_.require_done();
  links_.for_each([](StageLink& link) { link.flush(); });
  return loss_;
}

Tensor GptStage::receive_input(int micro_batch) {
  messages_.take({Direction::kReceived, Pass::kForward, micro_batch});
  enter(run::Phase::kForward);
  return links_.input->receive();
}

void GptStage::send_output(int micro_batch, const Tensor& output) {
  messages_.take({Direction::kSent, Pass::kForward, micro_batch});
  links_.output->send(output, tag_of(Pass::kForward, micro_batch));
}

Tensor GptStage::receive_gradient(int micro_batch) {
  messages_.take({Direction::kReceived, Pass::kBackward, micro_batch});
  enter(run::Phase::kBackward);
  return links_.output_gradient->receive();
}

void GptStage::send_gradient(int micro_batch, const Tensor& gradient) {
  messages_.take({Direction::kSent, Pass::kBackward, micro_batch});
  links_.input_gradient->send(gradient, tag_of(Pass::kBackward, micro_batch));
}

Variable GptStage::forward(int micro_batch, const Variable& input) {
  enter(run::Phase::kForward);
  const run::MicroBatch& samples = micro_batches_[static_cast<std::size_t>(micro_batch)];
  Variable output = part_.forward(samples.inputs, input, samples.context);
  if (is_last()) output = loss_of(output, samples);
  count_held(output);
  return output;
}

// The whole table's gradient is there when the owner's last backward pass ends: what waits for complete gradients, as
// data parallelism does, may rely on that.
void GptStage::backward(int micro_batch, const Variable& output, Tensor gradient) {
  enter(run::Phase::kBackward);
  if (backwards_left_ == 1) {
    table_.take_back();
    if (observer_.before_last_backward) observer_.before_last_backward();
  }
  if (is_last()) {
    output.backward(micro_batches_[static_cast<std::size_t>(micro_batch)].weight);
  } else if (output.requires_grad()) {  // false if the whole first stage is frozen
    std::vector<autograd::GradientStart> start;
    start.push_back({output, std::move(gradient)});  // moved: backward may then write into its memory
    autograd::backward_from(std::move(start));
  }
  if (--backwards_left_ == 0) table_.give_back();
}

// Only what this stage receives: the first has samples, and the last has the loss.
void GptStage::announce(const Action& action) {
  require(action.micro_batch < std::ssize(micro_batches_), "pipeline: there is no micro-batch ", action.micro_batch,
          ": the batch has ", micro_batches_.size());
  const bool is_forward = action.pass == Pass::kForward;
  if (is_forward ? is_first() : is_last()) return;
  const Tensor& tokens = micro_batches_[static_cast<std::size_t>(action.micro_batch)].inputs;  // [B, T]
  const Variable parameter = part_.parameters().front();
  StageLink& link = is_forward ? *links_.input : *links_.output_gradient;
  link.expect({.shape = part_.stream_shape(tokens.shape()),
               .dtype = autograd::activation_dtype(parameter.dtype()),
               .device = parameter.device(),
               .tag = tag_of(action.pass, action.micro_batch)});
}

void GptStage::enter(run::Phase phase) const {
  if (observer_.enter) observer_.enter(phase);
}

Variable GptStage::loss_of(const Variable& hidden, const run::MicroBatch& micro_batch) {
  table_.use();
  Variable loss = part_.loss(hidden, micro_batch.targets);
  loss_ += micro_batch.weight * loss.value().item();
  return loss;
}

void GptStage::count_held(const Variable& output) {
  if (!output.requires_grad()) return;
  std::erase_if(graphs_, [](const auto& graph) { return graph.expired(); });
  graphs_.push_back(output.node());
  most_held_ = std::max(most_held_, graphs_.size());
}

}  // namespace lockstep::pipeline
