#pragma once
/// @file
/// A loader whose batches are dealt to ranks.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "08_accelerate/prepared/order_shard.hpp"
#include "08_accelerate/tracking/profile.hpp"
#include "data/data_loader.hpp"
#include "device/device.hpp"

namespace lockstep::accelerate {

/// This rank's batches of a loader that was written for one process: `for (const data::Batch& batch : batches)`.
/// A handle: copies share one loader. The original sampler's set_epoch() still chooses the epoch. Inputs and targets
/// are on this loader's device; sample ids stay in host memory, where dropout reads them. Lifetime: must end before the
/// dataset's and the sampler's. Thread safety: one thread.
class AcceleratedLoader {
 public:
  /// @param original  Its dataset, sampler and options are used; it is not iterated itself. Dataset and sampler outlive
  ///                  this object.
  /// @param shard     How to deal it; batch_size and drop_last for this rank's loader.
  /// @param shared    The accelerator's.
  /// @param device    Where to place batches; the CPU leaves them where the dataset made them.
  /// @throws FormatError  An epoch has no batch, as data::DataLoader.
  AcceleratedLoader(const data::DataLoader& original, const ShardOptions& shard, std::shared_ptr<GradientState> shared,
                    Device device = {});

 private:
  struct Parts {
    Parts(const data::DataLoader& original, const ShardOptions& options, std::shared_ptr<GradientState> shared,
          Device device);
    // A span of the running profile, if there is one: the next step may begin with it.
    [[nodiscard]] trace::ScopedSpan waiting() const;
    // Copies the batch at `at`, if there is one, to the device.
    void place(const data::DataLoader::Iterator& at);
    std::shared_ptr<GradientState> shared;
    OrderShard shard;
    data::DataLoader loader;
    Device device;
    data::Batch placed;  // undefined on the CPU
  };
  // An iteration, from begin() until its end or until its last iterator is destroyed, by break, return or an exception.
  class Running {
   public:
    explicit Running(std::shared_ptr<Parts> parts) : parts_(std::move(parts)), first_(parts_->loader.begin()) {}
    ~Running() { end(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    void end() const noexcept { parts_->shard.end_iteration(number_); }
    [[nodiscard]] Parts& parts() const noexcept { return *parts_; }
    [[nodiscard]] data::DataLoader::Iterator first() const noexcept { return first_; }

   private:
    std::shared_ptr<Parts> parts_;
    data::DataLoader::Iterator first_;
    std::int64_t number_ = parts_->shard.iteration();
  };

 public:
  /// Single-pass: a batch is valid until the next increment. The loader counts as being iterated while a copy of it
  /// exists and the epoch is not over.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = data::Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const data::Batch*;
    using reference = const data::Batch&;

    /// The current batch, until ++.
    [[nodiscard]] const data::Batch& operator*() const noexcept {
      return running_->parts().device.is_cpu() ? *original_ : running_->parts().placed;
    }
    /// The current batch, until ++.
    [[nodiscard]] const data::Batch* operator->() const noexcept { return &**this; }
    /// Waits for the next batch, and starts copying it to the device.
    Iterator& operator++() {
      const auto span = running_->parts().waiting();
      ++original_;
      settle();
      return *this;
    }
    /// True once the epoch is over.
    bool operator==(std::default_sentinel_t end) const noexcept { return original_ == end; }

   private:
    friend class AcceleratedLoader;
    explicit Iterator(std::shared_ptr<Parts> parts)
        : running_(std::make_shared<Running>(std::move(parts))), original_(running_->first()) {
      settle();
    }
    void settle() {
      if (original_ == std::default_sentinel) return running_->end();
      running_->parts().place(original_);
    }
    std::shared_ptr<Running> running_;
    data::DataLoader::Iterator original_;
  };

  /// Starts an iteration. @throws  Whatever the dataset throws.
  [[nodiscard]] Iterator begin() {
    const auto span = parts_->waiting();
    return Iterator(parts_);
  }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

  /// Batches of a whole epoch: the most of any rank.
  [[nodiscard]] std::int64_t batches_per_epoch() const { return parts_->shard.batches_per_epoch(); }
  /// Samples per batch over all ranks.
  [[nodiscard]] std::int64_t total_batch_size() const noexcept { return parts_->shard.global_batch_size(); }
  /// See data::DataLoader::time_waited().
  [[nodiscard]] std::chrono::nanoseconds time_waited() const noexcept { return parts_->loader.time_waited(); }

  /// Makes the next iteration skip the epoch's first `batches` batches, without loading them.
  /// @throws ContractError  Negative, or not less than the epoch's number of batches.
  void skip_first(std::int64_t batches);

  [[nodiscard]] OrderShard& shard() const noexcept { return parts_->shard; }
  /// The loader of this rank's share, with batches in host memory.
  [[nodiscard]] data::DataLoader& loader() const noexcept { return parts_->loader; }
  /// The sampler of the whole job, for checkpoints.
  [[nodiscard]] data::Sampler& sampler() const noexcept { return parts_->shard.whole(); }

 private:
  std::shared_ptr<Parts> parts_;
};

}  // namespace lockstep::accelerate
