#pragma once
/// @file
/// Batches of a dataset in a sampler's order, prepared ahead by threads.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>

#include "data/dataset.hpp"
#include "data/sampler.hpp"

namespace lockstep::data {

/// Options of DataLoader.
struct DataLoaderOptions {
  std::int64_t batch_size = 1;  ///< B: samples per batch on this rank.
  bool drop_last = true;        ///< Whether to leave out samples that do not fill a batch at an epoch's end.
  int prefetch_batches = 2;     ///< At least 1.
  int num_workers = 1;          ///< More than prefetch_batches never work at once.
};

/// Iterates an epoch: `for (const Batch& batch : loader)`.
///
/// Dataset and sampler must outlive the loader. The sampler advances when a batch is returned, so a checkpoint taken in
/// the loop's body counts the body's batch as done. Batches come in the sampler's order with any number of workers. An
/// exception of the dataset is thrown by the iterator, after the batches before it. begin() ends an unfinished
/// iteration. Thread safety: one thread; the loader's workers read the dataset at the same time.
class DataLoader {
 public:
  /// @throws ContractError  batch_size, prefetch_batches or num_workers below 1; a sampler of more samples than
  /// `dataset`
  ///                        has (of fewer: the rest is left out).
  /// @throws FormatError    An epoch has no batch: fewer samples than batch_size, and drop_last. Without drop_last a
  ///                        rank may have no samples: its epoch then ends at once.
  DataLoader(const Dataset& dataset, Sampler& sampler, const DataLoaderOptions& options);
  DataLoader(const Dataset&& dataset, Sampler& sampler, const DataLoaderOptions& options) = delete;  // a temporary dies
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  /// Single-pass: a batch is valid until the next increment.
  class Iterator {
   public:
    /// For std::iterator_traits.
    using iterator_category = std::input_iterator_tag;
    /// For std::iterator_traits.
    using value_type = Batch;
    /// For std::iterator_traits.
    using difference_type = std::ptrdiff_t;
    /// For std::iterator_traits.
    using pointer = const Batch*;
    /// For std::iterator_traits.
    using reference = const Batch&;

    /// The current batch, until ++.
    [[nodiscard]] const Batch& operator*() const noexcept { return loader_->current_; }
    /// The current batch, until ++.
    [[nodiscard]] const Batch* operator->() const noexcept { return &loader_->current_; }
    Iterator& operator++();
    /// True once the epoch is over.
    bool operator==(std::default_sentinel_t /*end*/) const noexcept { return !loader_->has_current_; }

   private:
    friend class DataLoader;
    explicit Iterator(DataLoader& loader) noexcept : loader_(&loader) {}
    DataLoader* loader_;
  };

  /// Starts an iteration and fetches its first batch. @throws  Whatever the dataset throws.
  [[nodiscard]] Iterator begin();
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

  /// For making another loader that distributes the same samples in a different way.
  [[nodiscard]] const Dataset& dataset() const noexcept { return dataset_; }
  [[nodiscard]] Sampler& sampler() const noexcept { return sampler_; }
  [[nodiscard]] const DataLoaderOptions& options() const noexcept { return options_; }

  /// Batches of a whole epoch on this rank.
  [[nodiscard]] std::int64_t batches_per_epoch() const;

  /// Time spent waiting for batches since construction: what loading costs the training loop.
  [[nodiscard]] std::chrono::nanoseconds time_waited() const noexcept { return time_waited_; }

 private:
  class Prefetcher;  // owns the workers and their batches

  void fetch();

  const Dataset& dataset_;
  Sampler& sampler_;
  DataLoaderOptions options_;
  std::unique_ptr<Prefetcher> prefetcher_;
  Batch current_;
  bool has_current_ = false;
  std::chrono::nanoseconds time_waited_{0};
};

}  // namespace lockstep::data
