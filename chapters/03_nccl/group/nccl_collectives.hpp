#pragma once
// What each collective is in NCCL's words. Private to the chapter.
#include <nccl.h>

#include <cstdint>
#include <memory>

#include "comm/process_group_backend.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep::nccl {

// Enqueues calls on one stream. All of them stand in a group of NCCL's: the errors of doing what they ask for come from
// Communicator::run().
class NcclCollectives {
 public:
  using Call = comm::ProcessGroup::Call;

  // stream: must outlive this object.
  NcclCollectives(int rank, int world_size, const Stream& stream);

  // Between ncclGroupStart() and ncclGroupEnd(). Throws IoError, ContractError for what NCCL refuses at once.
  void enqueue(const Call& call, ncclComm_t communicator) const;
  // After ncclGroupEnd(): NCCL has added up, and a mean is to be divided.
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
