#pragma once
/// @file
/// A loop over batches that ends on all ranks in the same step, whichever rank runs out of data first.
#include <cstddef>
#include <iterator>
#include <optional>

#include "06_gpt_ddp/ddp/target_counter.hpp"
#include "data/data_loader.hpp"

namespace lockstep::ddp {

/// The range of StepProtocol::join(): this rank's batches, then empty ones while others still have some.
/// Loops may be nested, each with its own range: once the inner loop has ended or been left, the outer loop's step
/// counts as before. Thread safety: none; one iteration at a time.
class JoinedBatches {
 public:
  /// @param targets, loader  Must outlive this object. `targets` counts the loader's batches.
  /// @param is_enabled       False: only the loader's batches, without joining.
  JoinedBatches(TargetCounter& targets, data::DataLoader& loader, bool is_enabled) noexcept
      : targets_(targets), loader_(loader), is_enabled_(is_enabled) {}
  ~JoinedBatches();
  JoinedBatches(const JoinedBatches&) = delete;
  JoinedBatches& operator=(const JoinedBatches&) = delete;

  /// Single-pass: a batch is valid until the next increment.
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = data::Batch;

    /// The current batch; size() is 0 if this rank has none left.
    [[nodiscard]] const data::Batch& operator*() const noexcept { return joined_->current(); }
    /// Begins the next step.
    Iterator& operator++() {
      joined_->advance();
      return *this;
    }
    /// True once no rank has data.
    bool operator==(std::default_sentinel_t /*end*/) const noexcept { return joined_->is_over_; }

   private:
    friend class JoinedBatches;
    explicit Iterator(JoinedBatches& joined) noexcept : joined_(&joined) {}
    JoinedBatches* joined_;
  };

  /// Starts the loader and the first step. @throws  Whatever the loader throws.
  [[nodiscard]] Iterator begin();
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  [[nodiscard]] bool has_data() const noexcept { return *iterator_ != loader_.end(); }
  [[nodiscard]] const data::Batch& current() const noexcept { return has_data() ? **iterator_ : empty_; }
  void advance();
  void begin_step();
  void leave() noexcept;

  TargetCounter& targets_;
  data::DataLoader& loader_;
  bool is_enabled_;
  std::optional<data::DataLoader::Iterator> iterator_;
  data::Batch empty_;
  bool is_over_ = false;
  std::optional<TargetCounter> outer_;  // of the enclosing loop; empty: this loop is not running
};

}  // namespace lockstep::ddp
