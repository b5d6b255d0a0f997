#pragma once
/// @file
/// A loop over batches of an evaluation in which all ranks gather what any of them needs.
#include <cstddef>
#include <iterator>
#include <optional>

#include "09_sharded/shard/unit_window.hpp"
#include "comm/process_group.hpp"
#include "data/data_loader.hpp"

namespace lockstep::sharded {

/// The range of ShardedDataParallel::in_step(): the batches of this rank's loader, each of which is a pass. If ranks
/// have different numbers of batches, one that has none left gathers with the others, out of sight of the loop's body.
class EvaluationBatches {
 public:
  /// @param window  Null: nothing is gathered, and this is a plain loop. All three must outlive this object.
  EvaluationBatches(data::DataLoader& loader, UnitWindow* window, comm::ProcessGroup& group) noexcept
      : loader_(loader), window_(window), group_(group) {}
  ~EvaluationBatches();
  EvaluationBatches(const EvaluationBatches&) = delete;
  EvaluationBatches& operator=(const EvaluationBatches&) = delete;

  /// Single-pass: a batch is valid until the next increment.
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = data::Batch;

    [[nodiscard]] const data::Batch& operator*() const { return **batches_->iterator_; }
    /// Goes to this rank's next batch; at the end, to that of all ranks.
    Iterator& operator++() {
      batches_->advance();
      return *this;
    }
    bool operator==(std::default_sentinel_t /*end*/) const { return !batches_->has_data(); }

   private:
    friend class EvaluationBatches;
    explicit Iterator(EvaluationBatches& batches) noexcept : batches_(&batches) {}
    EvaluationBatches* batches_;
  };

  [[nodiscard]] Iterator begin();
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  [[nodiscard]] bool has_data() const { return *iterator_ != loader_.end(); }
  void advance();
  void begin_passes();

  data::DataLoader& loader_;
  UnitWindow* window_;
  comm::ProcessGroup& group_;
  std::optional<data::DataLoader::Iterator> iterator_;
};

}  // namespace lockstep::sharded
