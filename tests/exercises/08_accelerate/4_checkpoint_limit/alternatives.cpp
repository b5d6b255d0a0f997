#include "exercise/alternatives.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "08_accelerate/4_checkpoint_limit/checkpoint_limit.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"from_the_newest", "the numbers are in a set, newest first, and what comes after the limit is removed"},
    {"guards", "a destructor that lets no error out removes what is unfinished; the oldest leave a queue"},
    {"verifies_twice", "what has been written is verified before it is flushed and again after, and written anew once"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::accelerate {

using exercise::is_alternative;

namespace {

// Removes what is unfinished, unless it has been given its name.
class Unfinished {
 public:
  explicit Unfinished(CheckpointStore& store) : store_(&store) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    try {
      if (store_ != nullptr) store_->remove(kIncomplete);
    } catch (...) {  // the error on the way is the one to report
    }
  }
  void finish(const std::string& name) {
    store_->rename(kIncomplete, name);
    store_ = nullptr;
  }

 private:
  CheckpointStore* store_;
};

void save_guarded(CheckpointStore& store, std::int64_t number, int total_limit) {
  {
    Unfinished unfinished(store);
    store.write(kIncomplete);
    store.flush(kIncomplete);
    if (!store.verify(kIncomplete)) throw IoError("the disk does not keep what is written", EIO);
    unfinished.finish(checkpoint_name(number));
  }
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> oldest_first;
  for (const std::string& name : store.list())
    if (const auto found = number_of(name)) oldest_first.push(*found);
  for (; total_limit > 0 && std::ssize(oldest_first) > total_limit; oldest_first.pop())
    store.remove(checkpoint_name(oldest_first.top()));
}

bool write_whole(CheckpointStore& store) {
  const bool is_written = store.verify(kIncomplete);
  store.flush(kIncomplete);
  return is_written && store.verify(kIncomplete);
}

}  // namespace

void save_checkpoint(CheckpointStore& store, std::int64_t number, int total_limit) {
  if (is_alternative("guards")) return save_guarded(store, number, total_limit);
  if (is_alternative("from_the_newest")) {
    try {
      store.write(kIncomplete);
      store.flush(kIncomplete);
      if (!store.verify(kIncomplete)) throw IoError("the checkpoint on the disk differs from what was written", EIO);
    } catch (const IoError&) {
      store.remove(kIncomplete);
      throw;
    }
    store.rename(kIncomplete, checkpoint_name(number));
    std::set<std::int64_t, std::greater<>> numbers;
    for (const std::string& name : store.list())
      if (const auto found = number_of(name)) numbers.insert(*found);
    int kept = 0;
    for (const std::int64_t old : numbers)
      if (total_limit != 0 && ++kept > total_limit) store.remove(checkpoint_name(old));
    return;
  }
  try {
    store.write(kIncomplete);
    if (!write_whole(store)) {
      store.write(kIncomplete);
      if (!write_whole(store)) throw IoError("the disk does not keep what is written", EIO);
    }
  } catch (const IoError&) {
    store.remove(kIncomplete);
    throw;
  }
  store.rename(kIncomplete, checkpoint_name(number));
  if (total_limit == 0) return;
  std::vector<std::int64_t> numbers;
  for (const std::string& name : store.list())
    if (number_of(name).has_value()) numbers.push_back(number_of(name).value());
  std::ranges::sort(numbers);
  while (std::ssize(numbers) > total_limit) {
    store.remove(checkpoint_name(numbers.front()));
    numbers.erase(numbers.begin());
  }
}

}  // namespace lockstep::accelerate
