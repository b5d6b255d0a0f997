#pragma once
/// @file
/// The life of an NCCL communicator: its unique id, joining without blocking, errors, abort, the end.
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

/// Version of the NCCL library loaded at run time: "2.28.9".
[[nodiscard]] std::string library_version();

/// Rank 0 creates an id and puts it into the store, from which the others read it. An id serves one communicator.
/// @param context   The group's. World size 1 needs no store.
/// @param prefix    Prefix of the keys; unique in the job.
/// @param deadline  For rank 0's id.
/// @throws TimeoutError, PeerFailedError  Rank 0 does not join, or the job fails meanwhile.
/// @throws Error  NCCL cannot create an id; gives its reason.
[[nodiscard]] ncclUniqueId exchange_unique_id(const comm::JobContext& context, const std::string& prefix,
                                              const Deadline& deadline);

/// One rank's end of a communicator. No call blocks past its deadline, whatever the other ranks do: NCCL's communicator
/// is non-blocking, and this class polls it.
///
/// Lifetime: all ranks construct it together; call finish() at the end, or the destructor aborts. Thread safety: run()
/// and finish() from one thread at a time; throw_if_failed() and abort() from any.
class Communicator {
 public:
  /// Joins; returns once all ranks have joined.
  /// @param context   The group's rank, size and control plane.
  /// @param id        From exchange_unique_id().
  /// @param device    This rank's GPU.
  /// @param is_shared Whether other ranks use this GPU too; NCCL then gets only a few of its multiprocessors.
  /// @param deadline  For all ranks to join.
  /// @throws TimeoutError, PeerFailedError, IoError, ContractError
  Communicator(const comm::JobContext& context, const ncclUniqueId& id, Device device, bool is_shared,
               const Deadline& deadline);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Calls body(communicator) between ncclGroupStart() and ncclGroupEnd(); returns once all of it is enqueued on its
  /// streams. Only then may an event be recorded after it.
  /// @throws TimeoutError, IoError, ContractError  According to NCCL's code; PeerFailedError if the job has failed.
  void run(const std::function<void(ncclComm_t)>& body, const Deadline& deadline);

  /// @throws IoError, Error  An asynchronous NCCL error, such as a lost peer. The streams then hang until abort().
  void throw_if_failed();

  /// Ends the work that hangs on the streams; afterwards every call throws. From any thread, any number of times.
  /// Returns at once: NCCL may take long to abort, so a separate thread does it, and the destructor waits for it for a
  /// while.
  void abort() noexcept;

  /// Waits for the enqueued work and releases the communicator; aborts it if that fails.
  void finish(const Deadline& deadline) noexcept;

 private:
  void settle(const Deadline& deadline);
  [[nodiscard]] ncclResult_t state_locked();
  void check_locked(ncclResult_t result, std::string_view doing) const;
  void abort_and_wait() noexcept;

  struct Handle;  // NCCL's; outlives this object if NCCL's abort does not return
  const comm::JobContext context_;
  const Device device_;
  std::shared_ptr<Handle> handle_;
};

}  // namespace lockstep::nccl
