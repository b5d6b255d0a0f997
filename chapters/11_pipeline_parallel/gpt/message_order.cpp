#include "11_pipeline_parallel/gpt/message_order.hpp"

#include <string>

#include "base/error.hpp"

namespace lockstep::pipeline {
namespace {

using Direction = MessageOrder::Message::Direction;

// "send the output of F0"
std::string text_of(const MessageOrder::Message& message) {
  const bool is_sent = message.direction == Direction::kSent;
  const std::string number = std::to_string(message.micro_batch);
  if (message.pass == Pass::kForward) return (is_sent ? "send the output of F" : "receive the input of F") + number;
  return (is_sent ? "send the gradient of B" : "receive the gradient for B") + number;
}

}  // namespace

MessageOrder::MessageOrder(std::span<const Action> actions, bool is_first, bool is_last) {
  for (const auto& [pass, stage, micro_batch] : actions) {
    const bool is_forward = pass == Pass::kForward;
    if (is_forward ? !is_first : !is_last) left_.push_back({Direction::kReceived, pass, micro_batch});
    if (is_forward ? !is_last : !is_first) left_.push_back({Direction::kSent, pass, micro_batch});
  }
}

void MessageOrder::take(const Message& message) {
  if (!left_.empty() && message == left_.front()) return left_.pop_front();
  throw ContractError(concat("pipeline: this stage is about to ", text_of(message),
                             left_.empty() ? ", but its actions have no messages left"
                                           : concat(", but has to ", text_of(left_.front()), " first")));
}

void MessageOrder::require_done() const {
  if (left_.empty()) return;
  throw ContractError(concat("pipeline: all actions of this stage are done, but it has to ", text_of(left_.front())));
}

}  // namespace lockstep::pipeline
