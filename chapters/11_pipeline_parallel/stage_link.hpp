#pragma once
/// @file
/// What connects neighbouring stages of a pipeline: links, each in one direction.
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "comm/process_group.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::pipeline {

using Group = comm::ProcessGroup;

/// A message that the other end of a link is going to send. Both ends know its shape from the batch, which all ranks
/// read, so only elements travel.
struct ExpectedTensor {
  Shape shape;
  DType dtype = DType::kFloat32;
  Device device = {};
  std::string tag = {};  ///< As the sender's.
};

/// One end of a link: a group of two ranks, because the calls of a group run one after another, and a receive that
/// waits would hold up everything after it. So a rank has two links to a neighbour, one in each direction.
///
/// A send returns at once, and so a rank never waits for another to take what it has sent. One receive is issued ahead.
/// Thread safety: none.
class StageLink {
 public:
  /// @param pair  Two ranks.
  explicit StageLink(std::unique_ptr<Group> pair);

  /// Sends the elements, and holds on to them until they have left: nobody may write to them before flush().
  /// @param tag  Compared with the receiver's, and shown in messages: "F3".
  void send(const Tensor& tensor, const std::string& tag);

  /// Announces the next message. Messages arrive in the order of these calls.
  void expect(ExpectedTensor tensor);
  /// Waits for the message that was announced first.
  /// @throws ContractError  No message is expected. @throws  As comm::Work::synchronize().
  [[nodiscard]] Tensor receive();

  /// Waits until everything that was sent has left this rank.
  void flush();

  /// Of elements, since the link was made.
  [[nodiscard]] std::uint64_t bytes_sent() const { return pair_->traffic_sent().payload_bytes; }
  /// How long receive() has waited since the link was made.
  [[nodiscard]] std::chrono::nanoseconds time_waited() const noexcept { return waited_; }

 private:
  void issue_next();
  [[nodiscard]] int peer() const noexcept { return 1 - pair_->rank(); }

  std::unique_ptr<Group> pair_;
  comm::Work sending_;
  std::deque<ExpectedTensor> expected_;  // not issued yet
  comm::Work receiving_;
  Tensor arriving_;  // of receiving_; undefined: no receive is issued
  std::chrono::nanoseconds waited_{0};
};

/// The links of one rank. Rank r of a pipeline has stage r. A link that a rank does not need is null.
struct StageLinks {
  std::unique_ptr<StageLink> input;            ///< Activations from the stage before.
  std::unique_ptr<StageLink> output;           ///< Activations to the stage after.
  std::unique_ptr<StageLink> output_gradient;  ///< Gradients from the stage after.
  std::unique_ptr<StageLink> input_gradient;   ///< Gradients to the stage before.
  /// The token table between the first stage and the last, in turn: values, and back their gradient.
  std::unique_ptr<StageLink> table;

  /// Calls `visit` with each link that there is.
  void for_each(auto&& visit) const {
    for (const auto* link : {&input, &output, &output_gradient, &input_gradient, &table})
      if (*link) visit(**link);
  }
};

/// Makes all links of a pipeline at once, in the same order on all ranks. Links that are made when they are first used
/// would be made in an order that depends on the schedule, and ranks would wait for each other. Collective.
/// @param group  The ranks of the pipeline.
[[nodiscard]] StageLinks make_links(Group& group);

}  // namespace lockstep::pipeline
