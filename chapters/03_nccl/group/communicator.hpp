#pragma once
/// @file
/// The life of an NCCL communicator: the id that ranks meet by, joining without blocking, errors, abort, the end.
#include <nccl.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "comm/job_context.hpp"
#include "device/device.hpp"

namespace lockstep::nccl {

/// "2.28.9": of the library that the program runs with.
[[nodiscard]] std::string library_version();

/// Rank 0 makes an id and puts it into the store, where the others read it. An id serves one communicator.
/// @param context   Of the group. World size 1 needs no store.
/// @param prefix    Of the keys, unique in the job.
/// @param deadline  For rank 0 to come.
/// @throws TimeoutError, PeerFailedError  Rank 0 does not come, or the job fails meanwhile.
/// @throws Error  NCCL can make none; says what it says.
[[nodiscard]] ncclUniqueId exchange_unique_id(const comm::JobContext& context, const std::string& prefix,
                                              const Deadline& deadline);

/// One rank's end of a communicator. No call blocks longer than its deadline, whatever the other ranks do: the
/// communicator is a non-blocking one, and this class polls it.
///
/// Lifetime: made by all ranks together; finish() at the end, else the destructor aborts. Thread safety: run() and
/// finish() from one thread at a time; throw_if_failed() and abort() from any.
class Communicator {
 public:
  /// Joins, and returns once all ranks have.
  /// @param context   Of the group: rank, size and control plane.
  /// @param id        From exchange_unique_id().
  /// @param device    This rank's GPU.
  /// @param is_shared Whether other ranks use that GPU too: then it asks for few of the GPU's multiprocessors.
  /// @param deadline  For all ranks to join.
  /// @throws TimeoutError, PeerFailedError, IoError, ContractError
  Communicator(const comm::JobContext& context, const ncclUniqueId& id, Device device, bool is_shared,
               const Deadline& deadline);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Calls body(communicator) between ncclGroupStart() and ncclGroupEnd() and returns once all of it stands in its
  /// streams: only then may an event be recorded behind it.
  /// @throws TimeoutError, IoError, ContractError  As NCCL's codes say; PeerFailedError where the job has failed.
  void run(const std::function<void(ncclComm_t)>& body, const Deadline& deadline);

  /// @throws IoError, Error  What NCCL has noticed since: a peer that is gone, say. The streams then hang until
  /// abort().
  void throw_if_failed();

  /// Ends what hangs in the streams; afterwards every call throws. From any thread, any number of times. Returns at
  /// once: NCCL may take long to abort, so a thread of its own does it, for which the destructor waits a while.
  void abort() noexcept;

  /// Waits for what has been enqueued and lets go of the communicator; aborts it where that fails.
  void finish(const Deadline& deadline) noexcept;

 private:
  void settle(const Deadline& deadline);
  [[nodiscard]] ncclResult_t state_locked();
  void check_locked(ncclResult_t result, std::string_view doing) const;
  void abort_and_wait() noexcept;

  struct Handle;  // of NCCL's; outlives this object where NCCL does not return from aborting
  const comm::JobContext context_;
  const Device device_;
  std::shared_ptr<Handle> handle_;
};

}  // namespace lockstep::nccl
