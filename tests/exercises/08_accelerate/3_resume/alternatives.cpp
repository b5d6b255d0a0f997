#include "exercise/alternatives.hpp"

#include <vector>

#include "08_accelerate/3_resume/resume.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"batch_by_batch", "each batch is dealt on its own, and skipping advances from the start of the epoch"},
    {"wraps_in_advance", "advance() goes to the next epoch itself when no batch is left"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::accelerate {

using exercise::is_alternative;

std::vector<std::int64_t> ResumableShard::begin_iteration() {
  const auto order_of = order_of_epoch_;
  std::vector<std::int64_t> order = order_of(state_.epoch);
  if (std::ssize(order) < state_.consumed + total_batch_size_) {
    state_ = {state_.epoch + 1, 0};
    order = order_of(state_.epoch);
  }
  std::vector<std::int64_t> own;
  for (std::int64_t begin = state_.consumed; begin + total_batch_size_ <= std::ssize(order); begin += total_batch_size_)
    for (std::int64_t i = 0; i < total_batch_size_; ++i)
      if (i % world_size_ == rank_) own.push_back(order[static_cast<std::size_t>(begin + i)]);
  return own;
}

void ResumableShard::advance() {
  state_.consumed += total_batch_size_;
  if (!is_alternative("wraps_in_advance")) return;
  if (state_.consumed + total_batch_size_ > std::ssize(order_of_epoch_(state_.epoch))) state_ = {state_.epoch + 1, 0};
}

void ResumableShard::skip_first_batches(std::int64_t batches) {
  state_.consumed = 0;
  for (; batches > 0; --batches) state_.consumed += total_batch_size_;
}

}  // namespace lockstep::accelerate
