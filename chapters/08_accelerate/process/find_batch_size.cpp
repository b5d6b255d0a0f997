#include "08_accelerate/process/find_batch_size.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string_view>
#include <vector>

#include "06_gpt_ddp/replica_check.hpp"
#include "base/error.hpp"
#include "device/memory_limit.hpp"
#include "device/storage.hpp"

namespace lockstep::accelerate {
namespace {

enum class Trial { kFits, kOutOfMemory };

Trial attempt(const PartialState& ranks, std::int64_t batch_size, const std::function<void(std::int64_t)>& trial) {
  try {
    trial(batch_size);
    return Trial::kFits;
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) {
      ranks.process_group().abort(concat("a trial with batch size ", batch_size, " has failed: ", error.what()));
      throw;
    }
  }
  release_cached_memory(ranks.device());
  return Trial::kOutOfMemory;
}

}  // namespace

bool is_out_of_memory(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (dynamic_cast<const OutOfMemoryError*>(&error) != nullptr) return true;
  const auto* const io_error = dynamic_cast<const IoError*>(&error);
  if (io_error != nullptr) return io_error->error_number() == ENOMEM;
  return std::string_view(error.what()).starts_with("out of memory");  // of a kernel's library
}

std::int64_t find_executable_batch_size(const PartialState& ranks, std::int64_t starting_batch_size,
                                        const std::function<void(std::int64_t)>& trial) {
  require(starting_batch_size >= 1, "find_executable_batch_size: it begins with ", starting_batch_size,
          ", but a batch has at least one sample");
  comm::ProcessGroup& group = ranks.process_group();
  for (std::int64_t batch_size = starting_batch_size;; batch_size /= 2) {
    const auto own = static_cast<std::int64_t>(attempt(ranks, batch_size, trial) == Trial::kOutOfMemory);
    const std::vector<std::int64_t> failed = ddp::gather_rows(group, std::span(&own, 1));
    const auto first = std::ranges::find(failed, 1);
    if (first == failed.end()) return batch_size;
    if (batch_size > 1) continue;
    const auto culprit = static_cast<int>(first - failed.begin());
    const std::string message =
        concat("find_executable_batch_size: a single sample does not fit into the memory of rank ", culprit,
               "; use a smaller model, or activation checkpointing");
    group.prepare_common_error(message, culprit);
    throw Error(message);
  }
}

}  // namespace lockstep::accelerate
