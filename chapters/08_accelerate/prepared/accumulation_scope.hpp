#pragma once
/// @file
/// The scope of one micro-batch, and loops in which ranks run out of data at different times.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "08_accelerate/prepared/accelerated_loader.hpp"
#include "08_accelerate/prepared/gradient_state.hpp"
#include "data/dataset.hpp"

namespace lockstep::accelerate {

/// One micro-batch, from forward to the optimizer's step. Made by Accelerator::accumulate(). Its constructor decides
/// whether this micro-batch is the last of its step; if it is not, backward() sends nothing while the scope lives.
class AccumulationScope {
 public:
  /// @param shared  The accelerator's. @param steps  Micro-batches of a step. @param models  Outlive this object.
  /// @throws ContractError  steps > 1 within join_uneven_inputs().
  AccumulationScope(GradientState& shared, std::int64_t steps,
                    std::initializer_list<ddp::DistributedDataParallel*> models);
  AccumulationScope(const AccumulationScope&) = delete;
  AccumulationScope& operator=(const AccumulationScope&) = delete;

 private:
  std::deque<ddp::DistributedDataParallel::NoSync> no_sync_;  // one per model, or empty
};

/// The range of Accelerator::join_uneven_inputs(). Joined loops may be nested, each with its own loader. Thread safety:
/// none; one iteration at a time.
class UnevenInputs {
 public:
  /// @param shared, ddp  Outlive this object. @param loader  A handle.
  UnevenInputs(GradientState& shared, ddp::DistributedDataParallel& ddp, AcceleratedLoader loader);
  ~UnevenInputs();
  UnevenInputs(const UnevenInputs&) = delete;
  UnevenInputs& operator=(const UnevenInputs&) = delete;

  /// Single-pass: a batch is valid until the next increment.
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = data::Batch;

    /// The current batch; size() is 0 if this rank has none left.
    [[nodiscard]] const data::Batch& operator*() const noexcept { return *joined_; }
    /// Begins the next step.
    Iterator& operator++() {
      ++joined_;
      inputs_->arrive(joined_);
      return *this;
    }
    /// True once no rank has data.
    bool operator==(std::default_sentinel_t end) const noexcept { return joined_ == end; }

   private:
    friend class UnevenInputs;
    Iterator(UnevenInputs& inputs, ddp::JoinedBatches::Iterator joined) noexcept : inputs_(&inputs), joined_(joined) {}
    UnevenInputs* inputs_;
    ddp::JoinedBatches::Iterator joined_;
  };

  /// Starts the loader and the first step. @throws  Whatever the loader throws.
  [[nodiscard]] Iterator begin();
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  void arrive(const ddp::JoinedBatches::Iterator& joined);
  void leave() noexcept;

  GradientState& shared_;
  AcceleratedLoader loader_;
  ddp::JoinedBatches batches_;
  std::int64_t iteration_ = 0;      // the loader's; 0: not running
  std::optional<bool> was_joined_;  // outside this loop; empty: not running
};

}  // namespace lockstep::accelerate
