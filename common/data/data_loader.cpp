#include "data/data_loader.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.hpp"

namespace lockstep::data {

// One iteration: a thread fills a queue of at most prefetch_batches batches; next() empties it.
class DataLoader::Prefetcher {
 public:
  Prefetcher(const Dataset& dataset, std::vector<std::int64_t> indices, const DataLoaderOptions& options)
      : dataset_(dataset),
        indices_(std::move(indices)),
        options_(options),
        thread_([this](std::stop_token stop) { work(stop); }) {}

  // The next batch; nothing at the end. Throws what the dataset threw, after the batches before it.
  std::optional<Batch> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty() || is_done_; });
    if (queue_.empty()) {
      if (error_) std::rethrow_exception(error_);
      return std::nullopt;
    }
    Batch batch = std::move(queue_.front());
    queue_.pop_front();
    changed_.notify_all();
    return batch;
  }

 private:
  void work(const std::stop_token& stop) {
    std::exception_ptr error;
    try {
      produce(stop);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = error;
    is_done_ = true;
    changed_.notify_all();
  }

  void produce(const std::stop_token& stop) {
    std::span<const std::int64_t> left = indices_;
    const auto batch_size = static_cast<std::size_t>(options_.batch_size);
    while (!left.empty() && !(options_.drop_last && left.size() < batch_size)) {
      const std::size_t count = std::min(batch_size, left.size());
      Batch batch = dataset_.batch(left.first(count));
      left = left.subspan(count);
      std::unique_lock lock(mutex_);
      const bool has_room = changed_.wait(
          lock, stop, [this] { return queue_.size() < static_cast<std::size_t>(options_.prefetch_batches); });
      if (!has_room) return;  // asked to stop
      queue_.push_back(std::move(batch));
      changed_.notify_all();
    }
  }

  const Dataset& dataset_;
  const std::vector<std::int64_t> indices_;
  const DataLoaderOptions options_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Batch> queue_;
  std::exception_ptr error_;
  bool is_done_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

DataLoader::DataLoader(const Dataset& dataset, Sampler& sampler, const DataLoaderOptions& options)
    : dataset_(dataset), sampler_(sampler), options_(options) {
  require(options.batch_size >= 1, "batch size ", options.batch_size, " is not positive");
  require(options.prefetch_batches >= 1, "prefetch_batches ", options.prefetch_batches, " is not positive");
  const bool may_be_empty = !options.drop_last;  // a rank without samples where others have some
  if (batches_per_epoch() < 1 && !may_be_empty)
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
  prefetcher_.reset();  // joins the thread of an iteration that was left early
  prefetcher_ = std::make_unique<Prefetcher>(dataset_, sampler_.begin_iteration(), options_);
  fetch();
  return Iterator(*this);
}

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  loader_->fetch();
  return *this;
}

void DataLoader::fetch() {
  has_current_ = false;
  current_ = {};  // gives the memory back before the next batch asks for some
  const auto begin = std::chrono::steady_clock::now();
  std::optional<Batch> batch = prefetcher_->next();
  time_waited_ += std::chrono::steady_clock::now() - begin;
  if (!batch) return;
  current_ = *std::move(batch);
  has_current_ = true;
  sampler_.advance(current_.size());
}

}  // namespace lockstep::data
