#include "11_pipeline_parallel/stage_link.hpp"

#include <utility>

#include "base/error.hpp"
#include "comm/buffer.hpp"

namespace lockstep::pipeline {
namespace {

std::unique_ptr<StageLink> make_link(Group& group, bool has_end) {
  std::unique_ptr<Group> pair = group.split(has_end ? 0 : Group::kNoColor);
  return pair ? std::make_unique<StageLink>(std::move(pair)) : nullptr;
}

}  // namespace

StageLink::StageLink(std::unique_ptr<Group> pair) : pair_(std::move(pair)) {
  require(pair_->world_size() == 2, "pipeline: a link is between two ranks, not ", pair_->world_size());
}

void StageLink::send(const Tensor& tensor, const std::string& tag) {
  sending_ = pair_->send(comm::buffer_of(tensor), peer(), {.tag = tag});
}

void StageLink::expect(ExpectedTensor tensor) {
  expected_.push_back(std::move(tensor));
  if (!arriving_.is_defined()) issue_next();
}

Tensor StageLink::receive() {
  require(arriving_.is_defined(), "pipeline: receive() without expect()");
  const auto begin = std::chrono::steady_clock::now();
  receiving_.synchronize();
  waited_ += std::chrono::steady_clock::now() - begin;
  Tensor arrived = std::exchange(arriving_, Tensor());
  if (!expected_.empty()) issue_next();
  return arrived;
}

void StageLink::flush() { sending_.synchronize(); }

void StageLink::issue_next() {
  const ExpectedTensor next = std::move(expected_.front());
  expected_.pop_front();
  arriving_ = Tensor::empty(next.shape, next.dtype, next.device);
  receiving_ = pair_->recv(comm::buffer_of(arriving_), peer(), {.tag = next.tag});
}

StageLinks make_links(Group& group) {
  StageLinks links;
  const int rank = group.rank(), last = group.world_size() - 1;
  for (int stage = 0; stage < last; ++stage) {
    const bool is_before = rank == stage, is_after = rank == stage + 1;
    auto activations = make_link(group, is_before || is_after);
    auto gradients = make_link(group, is_before || is_after);
    if (is_before) {
      links.output = std::move(activations);
      links.output_gradient = std::move(gradients);
    }
    if (is_after) {
      links.input = std::move(activations);
      links.input_gradient = std::move(gradients);
    }
  }
  if (last > 0) links.table = make_link(group, rank == 0 || rank == last);
  return links;
}

}  // namespace lockstep::pipeline
