#pragma once
/// @file
/// The messages of a stage's actions, in the order in which a loop has to exchange them.
#include <deque>
#include <span>

#include "11_pipeline_parallel/schedules/schedule.hpp"

namespace lockstep::pipeline {

/// The messages that a loop still has to receive and send. If it left a message out, another rank would wait for it
/// until a deadline passes; this finds the mistake on the rank that makes it. Thread safety: none.
class MessageOrder {
 public:
  /// A message of an action: the input or output of a forward pass, a gradient of a backward pass.
  struct Message {
    enum class Direction { kReceived, kSent };
    Direction direction;
    Pass pass;
    int micro_batch;

    friend bool operator==(const Message&, const Message&) = default;
  };

  /// No messages.
  MessageOrder() = default;
  /// @param actions  Of one stage. @param is_first, is_last  It has no stage before it, or after it.
  MessageOrder(std::span<const Action> actions, bool is_first, bool is_last);

  /// Call it before each message. @throws ContractError  Another one is next, or none.
  void take(const Message& message);
  /// Call it after the loop. @throws ContractError  A message is left.
  void require_done() const;

 private:
  std::deque<Message> left_;
};

}  // namespace lockstep::pipeline
