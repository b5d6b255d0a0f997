#include "data/data_loader.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace lockstep::data {

// One iteration. Workers take batches by number, at most prefetch_batches ahead of the reader, and put each into its
// slot; next() takes them out in order. So the order is the sampler's, whatever the workers' timing.
class DataLoader::Prefetcher {
 public:
  Prefetcher(const Dataset& dataset, Sampler& sampler, const DataLoaderOptions& options)
      : dataset_(dataset),
        indices_(sampler.begin_iteration()),
        epoch_(sampler.epoch()),
        options_(options),
        batch_count_(count_batches()),
        slots_(static_cast<std::size_t>(options.prefetch_batches)) {
    const std::size_t workers = std::min(static_cast<std::size_t>(options.num_workers), batch_count_);
    for (std::size_t i = 0; i < workers; ++i) {
      workers_.emplace_back([this](std::stop_token stop) { work(stop); });
    }
  }

  // The next batch; nothing at the end. Throws the dataset's exception for it, on every later call too.
  std::optional<Batch> next() {
    if (next_read_ == batch_count_) return std::nullopt;
    std::unique_lock lock(mutex_);
    Slot& slot = slot_of(next_read_);
    changed_.wait(lock, [&slot] { return slot.batch || slot.error; });
    if (slot.error) std::rethrow_exception(slot.error);
    std::optional<Batch> batch = std::exchange(slot.batch, std::nullopt);
    ++next_read_;
    changed_.notify_all();
    return batch;
  }

 private:
  struct Slot {
    std::optional<Batch> batch;
    std::exception_ptr error;
  };

  [[nodiscard]] std::size_t count_batches() const {
    const auto batch_size = static_cast<std::size_t>(options_.batch_size);
    return options_.drop_last ? indices_.size() / batch_size : (indices_.size() + batch_size - 1) / batch_size;
  }

  Slot& slot_of(std::size_t number) { return slots_[number % slots_.size()]; }

  void work(const std::stop_token& stop) {
    while (const std::optional<std::size_t> number = take_number(stop)) {
      Slot made;
      try {
        made.batch = make(*number);
      } catch (...) {
        made.error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      slot_of(*number) = std::move(made);
      changed_.notify_all();
    }
  }

  // The number of a batch that no worker makes yet, once its slot is free; nothing if there is none left.
  std::optional<std::size_t> take_number(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const bool has_room = changed_.wait(
        lock, stop, [this] { return next_made_ == batch_count_ || next_made_ < next_read_ + slots_.size(); });
    if (!has_room || stop.stop_requested() || next_made_ == batch_count_) return std::nullopt;
    return next_made_++;
  }

  [[nodiscard]] Batch make(std::size_t number) const {
    const auto batch_size = static_cast<std::size_t>(options_.batch_size);
    const auto left = std::span(indices_).subspan(number * batch_size);
    return dataset_.batch_of_epoch(left.first(std::min(batch_size, left.size())), epoch_);
  }

  const Dataset& dataset_;
  const std::vector<std::int64_t> indices_;
  const std::int64_t epoch_;
  const DataLoaderOptions options_;
  const std::size_t batch_count_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Slot> slots_;            // batch i is in slot i % slots_.size()
  std::size_t next_made_ = 0;          // the first batch that no worker has taken
  std::size_t next_read_ = 0;          // the first that has not been returned
  std::vector<std::jthread> workers_;  // last: they use all of the above
};

DataLoader::DataLoader(const Dataset& dataset, Sampler& sampler, const DataLoaderOptions& options)
    : dataset_(dataset), sampler_(sampler), options_(options) {
  require(options.batch_size >= 1, "batch size ", options.batch_size, " is not positive");
  require(options.prefetch_batches >= 1, "prefetch_batches ", options.prefetch_batches, " is not positive");
  require(options.num_workers >= 1, "num_workers ", options.num_workers, " is not positive");
  require(sampler.state().dataset_size <= dataset.size(), "a sampler of ", sampler.state().dataset_size,
          " samples for a dataset of ", dataset.size(), "; make it with the dataset's size()");
  if (options.drop_last && batches_per_epoch() < 1)
    throw FormatError(concat("an epoch of ", sampler.samples_per_epoch(), " samples on this rank has no batch of ",
                             options.batch_size, "; use more data, a smaller batch or fewer ranks"));
}

DataLoader::~DataLoader() = default;

std::int64_t DataLoader::batches_per_epoch() const {
  const std::int64_t samples = sampler_.samples_per_epoch();
  return options_.drop_last ? samples / options_.batch_size
                            : (samples + options_.batch_size - 1) / options_.batch_size;  // rounded up
}

DataLoader::Iterator DataLoader::begin() {
  prefetcher_.reset();  // joins the workers of an iteration that was left early
  prefetcher_ = std::make_unique<Prefetcher>(dataset_, sampler_, options_);
  fetch();
  return Iterator(*this);
}

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  loader_->fetch();
  return *this;
}

void DataLoader::fetch() {
  has_current_ = false;
  current_ = {};  // frees the memory before the next batch allocates some
  const auto begin = std::chrono::steady_clock::now();
  std::optional<Batch> batch = prefetcher_->next();
  time_waited_ += std::chrono::steady_clock::now() - begin;
  if (!batch) return;
  current_ = *std::move(batch);
  has_current_ = true;
  sampler_.advance(current_.size());
}

}  // namespace lockstep::data
