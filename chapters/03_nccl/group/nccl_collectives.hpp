#pragma once
// Translates collectives to NCCL calls. Internal to this chapter.
#include <nccl.h>

#include <cstdint>
#include <memory>

#include "comm/process_group_backend.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep::nccl {

// Enqueues calls on one stream, inside an NCCL group: errors of their execution come from Communicator::run().
class NcclCollectives {
 public:
  using Call = comm::ProcessGroup::Call;

  // stream must outlive this object.
  NcclCollectives(int rank, int world_size, const Stream& stream);

  // Call between ncclGroupStart() and ncclGroupEnd(). Throws IoError or ContractError if NCCL rejects the call at once.
  void enqueue(const Call& call, ncclComm_t communicator) const;
  // Call after ncclGroupEnd(): NCCL computes the sum, this divides it for a mean.
  void finish_mean(const Call& call) const;

 private:
  void enqueue_gather(const Call& call, ncclComm_t communicator) const;
  void enqueue_scatter(const Call& call, ncclComm_t communicator) const;
  void enqueue_all_to_all(const Call& call, ncclComm_t communicator) const;
  void copy_own(void* to, const void* from, std::int64_t bytes) const;

  const int rank_, world_size_;
  const Stream& stream_;
  std::shared_ptr<Storage> barrier_cell_;  // one int32 on the device
};

}  // namespace lockstep::nccl
