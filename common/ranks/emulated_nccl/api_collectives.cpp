// The calls of nccl.h that move data, and those about groups.
#include "emulated_nccl/failure.hpp"
#include "emulated_nccl/group.hpp"

namespace {

using namespace lockstep::emulated_nccl;

ncclResult_t submit_call(ncclComm_t comm, const Operation& operation) {
  return nccl_call(operation.name, [&] { return submit(comm, operation); });
}

}  // namespace

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return submit_call(comm, {"ncclAllReduce", Kind::kAllReduce, send, receive, count, type, op, 0, stream});
}

ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return submit_call(comm, {"ncclReduce", Kind::kReduce, send, receive, count, type, op, root, stream});
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return submit_call(comm, {"ncclBroadcast", Kind::kBroadcast, send, receive, count, type, ncclSum, root, stream});
}

ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return submit_call(comm, {"ncclBcast", Kind::kBroadcast, buffer, buffer, count, type, ncclSum, root, stream});
}

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return submit_call(comm, {"ncclAllGather", Kind::kAllGather, send, receive, count, type, ncclSum, 0, stream});
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return submit_call(comm, {"ncclReduceScatter", Kind::kReduceScatter, send, receive, count, type, op, 0, stream});
}

ncclResult_t ncclSend(const void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return submit_call(comm, {"ncclSend", Kind::kSend, buffer, nullptr, count, type, ncclSum, peer, stream});
}

ncclResult_t ncclRecv(void* buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return submit_call(comm, {"ncclRecv", Kind::kReceive, nullptr, buffer, count, type, ncclSum, peer, stream});
}

ncclResult_t ncclGroupStart() {
  return nccl_call("ncclGroupStart", [] {
    start_group();
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupEnd() {
  return nccl_call("ncclGroupEnd", [] { return end_group(); });
}
