#include "03_nccl/group/communicator.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/transport.hpp"
#include "store/store.hpp"

namespace lockstep::nccl {
namespace {

using namespace std::chrono_literals;

// How long the destructor waits for NCCL to abort.
constexpr auto kAbortLimit = 10s;

// Without blocking, NCCL enqueues a group on a thread of its own, which takes longer than the 14 us of a blocking call
// (H200, NCCL 2.28); the shortest sleep takes 60 us (Linux rounds up by 50).
constexpr auto kSpinLimit = 200us;

// The pause between two polls. Spins at first, then sleeps a little longer each time: quick calls are noticed at once,
// and long ones cost no processor time.
class Pause {
 public:
  void take() {
    if (std::chrono::steady_clock::now() < spin_end_) return std::this_thread::yield();
    std::this_thread::sleep_for(length_);
    length_ = std::min<std::chrono::microseconds>(2 * length_, 1ms);
  }

 private:
  const std::chrono::steady_clock::time_point spin_end_ = std::chrono::steady_clock::now() + kSpinLimit;
  std::chrono::microseconds length_{10};
};

// The exception for an NCCL code. A lost peer shows as a broken connection; the control plane knows which peer it is
// (ProcessGroup::finish).
[[noreturn]] void throw_error(ncclResult_t result, const std::string& doing, ncclComm_t communicator) {
  const char* const details = ncclGetLastError(communicator);
  const std::string message = concat("NCCL, ", doing, ": ", ncclGetErrorString(result),
                                     details != nullptr && *details != '\0' ? concat(" (", details, ")") : "");
  if (result == ncclRemoteError) throw comm::LinkError(message);
  if (result == ncclSystemError) throw IoError(message);
  if (result == ncclInvalidArgument || result == ncclInvalidUsage) throw ContractError(message);
  throw Error(message);
}

}  // namespace

std::string library_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "unknown";
  return concat(version / 10000, '.', version / 100 % 100, '.', version % 100);  // two digits each, since 2.9
}

ncclUniqueId exchange_unique_id(const comm::JobContext& context, const std::string& prefix, const Deadline& deadline) {
  const std::string key = prefix + "unique_id";
  const std::string task = concat("rank ", context.global_rank(context.rank),
                                  ": waiting for NCCL's unique id from rank ", context.global_rank(0));
  ncclUniqueId id{};
  if (context.rank == 0) {
    const ncclResult_t result = ncclGetUniqueId(&id);
    if (result != ncclSuccess) throw_error(result, "making a unique id", nullptr);
    if (context.store) context.store->set(key, std::string(id.internal, sizeof id.internal));
    return id;
  }
  const std::string bytes = comm::get_or_fail(context, key, task, deadline);
  if (bytes.size() != sizeof id.internal) throw FormatError(concat(task, ": it has ", bytes.size(), " bytes"));
  std::memcpy(id.internal, bytes.data(), bytes.size());
  return id;
}

struct Communicator::Handle {
  std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  ncclComm_t communicator = nullptr;  // null once released
  bool has_been_aborted = false;
  std::atomic<bool> is_to_be_aborted = false;  // outside the lock: abort() must not wait for an NCCL call
};

Communicator::Communicator(const comm::JobContext& context, const ncclUniqueId& id, Device device, bool is_shared,
                           const Deadline& deadline)
    : context_(context), device_(device), handle_(std::make_shared<Handle>()) {
  make_current(device_);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (is_shared) config.minCTAs = config.maxCTAs = 1;  // the kernels of all ranks must fit on the GPU at once
  try {
    {
      const std::scoped_lock lock(handle_->mutex);
      check_locked(ncclCommInitRankConfig(&handle_->communicator, context.world_size, id, context.rank, &config),
                   "joining");
    }
    settle(deadline);
  } catch (...) {
    abort_and_wait();
    throw;
  }
}

Communicator::~Communicator() { abort_and_wait(); }

void Communicator::check_locked(ncclResult_t result, std::string_view doing) const {
  if (result == ncclSuccess || result == ncclInProgress) return;
  std::string ranks;  // for a part of the job: NCCL counts ranks from 0
  for (const int rank : context_.global_ranks) ranks += concat(ranks.empty() ? " among ranks " : ", ", rank);
  throw_error(result, concat(doing, ranks), handle_->communicator);
}

ncclResult_t Communicator::state_locked() {
  if (handle_->communicator == nullptr) throw IoError("the communicator has been aborted");
  ncclResult_t state = ncclSuccess;
  check_locked(ncclCommGetAsyncError(handle_->communicator, &state), "asking for errors");
  return state;
}

void Communicator::settle(const Deadline& deadline) {
  for (Pause pause;; pause.take()) {
    {
      const std::scoped_lock lock(handle_->mutex);
      const ncclResult_t state = state_locked();
      if (state == ncclSuccess) return;
      check_locked(state, "waiting for the other ranks");
    }
    comm::throw_if_job_failed(context_, "");
    if (deadline.has_expired()) {
      throw TimeoutError(concat("NCCL was not ready within ", format_seconds(deadline.waited())));
    }
  }
}

void Communicator::run(const std::function<void(ncclComm_t)>& body, const Deadline& deadline) {
  make_current(device_);
  {
    const std::scoped_lock lock(handle_->mutex);
    check_locked(state_locked(), "before a call");
    check_locked(ncclGroupStart(), "beginning a group");
    try {
      body(handle_->communicator);
    } catch (...) {
      (void)ncclGroupEnd();  // NCCL counts groups by thread
      throw;
    }
    check_locked(ncclGroupEnd(), "ending a group");
  }
  settle(deadline);
}

void Communicator::throw_if_failed() {
  const std::scoped_lock lock(handle_->mutex);
  check_locked(state_locked(), "running");
}

void Communicator::abort() noexcept {
  const auto abort_now = [handle = handle_] {
    ncclComm_t communicator = nullptr;
    {
      const std::scoped_lock lock(handle->mutex);
      communicator = std::exchange(handle->communicator, nullptr);
    }
    if (communicator != nullptr) (void)ncclCommAbort(communicator);  // it has failed already
    const std::scoped_lock lock(handle->mutex);
    handle->has_been_aborted = true;
    handle->changed.notify_all();
  };
  if (handle_->is_to_be_aborted.exchange(true)) return;
  try {
    std::thread(abort_now).detach();
  } catch (const std::exception&) {  // no thread available
    abort_now();
  }
}

void Communicator::abort_and_wait() noexcept {
  std::unique_lock lock(handle_->mutex);
  if (handle_->communicator == nullptr && !handle_->is_to_be_aborted) return;  // finished
  lock.unlock();
  abort();
  lock.lock();
  if (handle_->changed.wait_for(lock, kAbortLimit, [this] { return handle_->has_been_aborted; })) return;
  context_.log.error(concat("NCCL did not abort a communicator within ", format_seconds(kAbortLimit),
                            ": one of its threads is left behind"));
}

void Communicator::finish(const Deadline& deadline) noexcept {
  try {
    {
      const std::scoped_lock lock(handle_->mutex);
      if (handle_->communicator == nullptr) return;
      check_locked(ncclCommFinalize(handle_->communicator), "finishing");
    }
    settle(deadline);
    const std::scoped_lock lock(handle_->mutex);
    check_locked(ncclCommDestroy(handle_->communicator), "ending");
    handle_->communicator = nullptr;
  } catch (const std::exception& error) {
    context_.log.warning(concat("NCCL could not finish: ", error.what()));
    abort();
  }
}

}  // namespace lockstep::nccl
