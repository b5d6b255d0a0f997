#pragma once
/// @file
/// What surrounds one micro-batch, and loops in which ranks run out of data at different times.
#include <cstdint>
#include <deque>
#include <initializer_list>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "08_accelerate/prepared/gradient_state.hpp"
#include "data/data_loader.hpp"

namespace lockstep::accelerate {

/// One micro-batch, from forward to the optimizer's step. Made by Accelerator::accumulate(). Its constructor decides
/// whether this micro-batch is the last of its step; if it is not, backward() sends nothing while the scope lives.
class AccumulationScope {
 public:
  /// @param shared  Of the accelerator. @param steps  Micro-batches of a step. @param models  Outlive this object.
  /// @throws ContractError  steps > 1 within join_uneven_inputs().
  AccumulationScope(GradientState& shared, std::int64_t steps,
                    std::initializer_list<ddp::DistributedDataParallel*> models);
  AccumulationScope(const AccumulationScope&) = delete;
  AccumulationScope& operator=(const AccumulationScope&) = delete;

 private:
  std::deque<ddp::DistributedDataParallel::NoSync> no_sync_;  // one per model, or none
};

/// The range of Accelerator::join_uneven_inputs(). Thread safety: none; one iteration at a time.
class UnevenInputs {
 public:
  /// @param shared, ddp, loader  Outlive this object.
  UnevenInputs(GradientState& shared, ddp::DistributedDataParallel& ddp, data::DataLoader& loader) noexcept
      : shared_(shared), batches_(ddp, loader, true) {
    shared_.is_joined = true;
  }
  ~UnevenInputs() { shared_.is_joined = false; }
  UnevenInputs(const UnevenInputs&) = delete;
  UnevenInputs& operator=(const UnevenInputs&) = delete;

  /// Starts the loader and the first step. @throws  Whatever the loader throws.
  [[nodiscard]] ddp::JoinedBatches::Iterator begin() { return batches_.begin(); }
  /// What the iterator is compared with.
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  GradientState& shared_;
  ddp::JoinedBatches batches_;
};

}  // namespace lockstep::accelerate
