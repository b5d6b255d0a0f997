#include "03_nccl/group/communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "comm/control_plane.hpp"
#include "store/store.hpp"

namespace lockstep::nccl {
namespace {

using namespace std::chrono_literals;

constexpr auto kStoreSlice = 200ms;  // between looks at the control plane

// Sleeps a little longer each time: what is done soon is seen soon, what takes long costs no processor.
class Pause {
 public:
  void take() {
    std::this_thread::sleep_for(length_);
    length_ = std::min<std::chrono::microseconds>(2 * length_, 1ms);
  }

 private:
  std::chrono::microseconds length_{10};
};

void throw_if_job_failed(const comm::JobContext& context, std::string_view task) {
  const auto failure = context.control ? context.control->failure() : nullptr;
  if (failure) std::rethrow_exception(comm::to_exception(*failure, std::string(task)));
}

// The exception for a code of NCCL's. A peer that is gone looks like a broken connection: the control plane knows who
// it is (ProcessGroup::finish).
[[noreturn]] void throw_error(ncclResult_t result, const std::string& doing, ncclComm_t communicator) {
  const char* const details = ncclGetLastError(communicator);
  const std::string message = concat("NCCL, ", doing, ": ", ncclGetErrorString(result),
                                     details != nullptr && *details != '\0' ? concat(" (", details, ")") : "");
  if (result == ncclRemoteError || result == ncclSystemError) throw IoError(message);
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
  const std::string task = concat("rank ", context.global_rank(context.rank), ": waiting for NCCL's unique id");
  ncclUniqueId id{};
  if (context.rank == 0) {
    const ncclResult_t result = ncclGetUniqueId(&id);
    if (result != ncclSuccess) throw_error(result, "making a unique id", nullptr);
    if (context.store) context.store->set(key, std::string(id.internal, sizeof id.internal));
    return id;
  }
  for (;;) {
    throw_if_job_failed(context, task);
    try {
      const std::string bytes = context.store->get(key, Deadline::after(kStoreSlice).earliest(deadline));
      if (bytes.size() != sizeof id.internal) throw FormatError(concat(task, ": it has ", bytes.size(), " bytes"));
      std::memcpy(id.internal, bytes.data(), bytes.size());
      return id;
    } catch (const TimeoutError&) {
      if (deadline.has_expired()) throw TimeoutError(concat(task, ": not within ", format_seconds(deadline.waited())));
    }
  }
}

Communicator::Communicator(const comm::JobContext& context, const ncclUniqueId& id, Device device, bool is_shared,
                           const Deadline& deadline)
    : context_(context), device_(device) {
  make_current(device_);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (is_shared) config.minCTAs = config.maxCTAs = 1;  // the kernels of all ranks must fit on the GPU at once
  try {
    {
      const std::scoped_lock lock(mutex_);
      check_locked(ncclCommInitRankConfig(&communicator_, context.world_size, id, context.rank, &config), "joining");
    }
    settle(deadline);
  } catch (...) {
    abort();
    throw;
  }
}

Communicator::~Communicator() { abort(); }

void Communicator::check_locked(ncclResult_t result, std::string_view doing) const {
  if (result == ncclSuccess || result == ncclInProgress) return;
  std::string ranks;  // of a part of the job: NCCL counts them from 0
  for (const int rank : context_.global_ranks) ranks += concat(ranks.empty() ? " among ranks " : ", ", rank);
  throw_error(result, concat(doing, ranks), communicator_);
}

ncclResult_t Communicator::state_locked() {
  if (communicator_ == nullptr) throw IoError("the communicator has been aborted");
  ncclResult_t state = ncclSuccess;
  check_locked(ncclCommGetAsyncError(communicator_, &state), "asking for errors");
  return state;
}

void Communicator::settle(const Deadline& deadline) {
  for (Pause pause;; pause.take()) {
    {
      const std::scoped_lock lock(mutex_);
      const ncclResult_t state = state_locked();
      if (state == ncclSuccess) return;
      check_locked(state, "waiting for the other ranks");
    }
    throw_if_job_failed(context_, "");
    if (deadline.has_expired()) {
      throw TimeoutError(concat("NCCL is not ready within ", format_seconds(deadline.waited())));
    }
  }
}

void Communicator::run(const std::function<void(ncclComm_t)>& body, const Deadline& deadline) {
  make_current(device_);
  {
    const std::scoped_lock lock(mutex_);
    check_locked(state_locked(), "before a call");
    check_locked(ncclGroupStart(), "beginning a group");
    try {
      body(communicator_);
    } catch (...) {
      (void)ncclGroupEnd();  // NCCL counts groups by thread
      throw;
    }
    check_locked(ncclGroupEnd(), "ending a group");
  }
  settle(deadline);
}

void Communicator::throw_if_failed() {
  const std::scoped_lock lock(mutex_);
  check_locked(state_locked(), "running");
}

void Communicator::abort() noexcept {
  const std::scoped_lock lock(mutex_);
  if (communicator_ != nullptr) (void)ncclCommAbort(communicator_);  // an error is no news here
  communicator_ = nullptr;
}

void Communicator::finish(const Deadline& deadline) noexcept {
  try {
    {
      const std::scoped_lock lock(mutex_);
      if (communicator_ == nullptr) return;
      check_locked(ncclCommFinalize(communicator_), "finishing");
    }
    settle(deadline);
    const std::scoped_lock lock(mutex_);
    check_locked(ncclCommDestroy(communicator_), "ending");
    communicator_ = nullptr;
  } catch (const std::exception& error) {
    context_.log.warning(concat("NCCL could not finish: ", error.what()));
    abort();
  }
}

}  // namespace lockstep::nccl
