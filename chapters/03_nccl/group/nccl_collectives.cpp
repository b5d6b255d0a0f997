#include "03_nccl/group/nccl_collectives.hpp"

#include "03_nccl/group/divide.hpp"
#include "03_nccl/nccl_check.hpp"
#include "base/error.hpp"
#include "device/copy.hpp"

namespace lockstep::nccl {
namespace {

using comm::Buffer;
using comm::ReduceOp;

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return ncclFloat32;
    case DType::kFloat64:
      return ncclFloat64;
    case DType::kBFloat16:
      return ncclBfloat16;
    case DType::kInt32:
      return ncclInt32;
    case DType::kInt64:
      return ncclInt64;
    case DType::kUInt8:
      return ncclUint8;
    case DType::kFloat16:
      return ncclFloat16;
  }
  throw ContractError("no such dtype");
}

ncclRedOp_t nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kProduct:
      return ncclProd;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kMax:
      return ncclMax;
    case ReduceOp::kSum:
    case ReduceOp::kMean:  // finish_mean() divides
      break;
  }
  return ncclSum;
}

std::size_t count_of(const Buffer& buffer) { return static_cast<std::size_t>(buffer.count); }

// Elements of rank `index`'s part of a buffer of all ranks.
void* part_of(const Buffer& whole, int index, std::int64_t count) {
  return static_cast<std::byte*>(whole.data) + index * count * static_cast<std::int64_t>(bytes_of(whole.dtype));
}

}  // namespace

NcclCollectives::NcclCollectives(int rank, int world_size, const Stream& stream)
    : rank_(rank), world_size_(world_size), stream_(stream) {
  const StreamGuard guard(stream_);
  barrier_cell_ = Storage::allocate(sizeof(std::int32_t), stream.device());
  zero_memory({barrier_cell_->data(), stream.device()}, barrier_cell_->bytes());
}

void NcclCollectives::enqueue(const Call& call, ncclComm_t communicator) const {
  const Buffer& values = call.values;
  cudaStream_t const stream = stream_.handle();
  const ncclDataType_t type = nccl_type(values.dtype);
  switch (call.collective) {
    case comm::Collective::kAllReduce:
      for (const Buffer& each : call.parts) {
        nccl_check(ncclAllReduce(each.data, each.data, count_of(each), type, nccl_op(call.op), communicator, stream),
                   "ncclAllReduce");
      }
      if (!call.parts.empty()) return;
      return nccl_check(
          ncclAllReduce(values.data, values.data, count_of(values), type, nccl_op(call.op), communicator, stream),
          "ncclAllReduce");
    case comm::Collective::kBroadcast:
      return nccl_check(
          ncclBroadcast(values.data, values.data, count_of(values), type, call.root, communicator, stream),
          "ncclBroadcast");
    case comm::Collective::kReduce:
      return nccl_check(ncclReduce(values.data, values.data, count_of(values), type, nccl_op(call.op), call.root,
                                   communicator, stream),
                        "ncclReduce");
    case comm::Collective::kAllGather:
      return nccl_check(ncclAllGather(call.input.data, values.data, count_of(call.input), type, communicator, stream),
                        "ncclAllGather");
    case comm::Collective::kReduceScatter:
      return nccl_check(ncclReduceScatter(call.input.data, values.data, count_of(values), type, nccl_op(call.op),
                                          communicator, stream),
                        "ncclReduceScatter");
    case comm::Collective::kGather:
      return enqueue_gather(call, communicator);
    case comm::Collective::kScatter:
      return enqueue_scatter(call, communicator);
    case comm::Collective::kAllToAll:
      return enqueue_all_to_all(call, communicator);
    case comm::Collective::kSend:
      return nccl_check(ncclSend(values.data, count_of(values), type, call.root, communicator, stream), "ncclSend");
    case comm::Collective::kRecv:
      return nccl_check(ncclRecv(values.data, count_of(values), type, call.root, communicator, stream), "ncclRecv");
    case comm::Collective::kBarrier:  // no rank has the sum before all have entered
      return nccl_check(
          ncclAllReduce(barrier_cell_->data(), barrier_cell_->data(), 1, ncclInt32, ncclSum, communicator, stream),
          "ncclAllReduce");
  }
}

// A message to the rank itself is a copy. In the stream it precedes the operations that the group enqueues at its end.
void NcclCollectives::copy_own(void* to, const void* from, std::int64_t bytes) const {
  if (to != from) copy_memory_async(to, from, static_cast<std::size_t>(bytes), stream_);
}

void NcclCollectives::enqueue_gather(const Call& call, ncclComm_t communicator) const {
  const ncclDataType_t type = nccl_type(call.input.dtype);
  const auto count = static_cast<std::size_t>(call.count);
  if (rank_ != call.root) {
    return nccl_check(ncclSend(call.input.data, count, type, call.root, communicator, stream_.handle()), "ncclSend");
  }
  copy_own(part_of(call.values, rank_, call.count), call.input.data, call.input.bytes());
  for (int peer = 0; peer < world_size_; ++peer) {
    if (peer == rank_) continue;
    nccl_check(ncclRecv(part_of(call.values, peer, call.count), count, type, peer, communicator, stream_.handle()),
               "ncclRecv");
  }
}

void NcclCollectives::enqueue_scatter(const Call& call, ncclComm_t communicator) const {
  const ncclDataType_t type = nccl_type(call.values.dtype);
  const auto count = static_cast<std::size_t>(call.count);
  if (rank_ != call.root) {
    return nccl_check(ncclRecv(call.values.data, count, type, call.root, communicator, stream_.handle()), "ncclRecv");
  }
  copy_own(call.values.data, part_of(call.input, rank_, call.count), call.values.bytes());
  for (int peer = 0; peer < world_size_; ++peer) {
    if (peer == rank_) continue;
    nccl_check(ncclSend(part_of(call.input, peer, call.count), count, type, peer, communicator, stream_.handle()),
               "ncclSend");
  }
}

void NcclCollectives::enqueue_all_to_all(const Call& call, ncclComm_t communicator) const {
  const ncclDataType_t type = nccl_type(call.values.dtype);
  const auto count = static_cast<std::size_t>(call.count);
  copy_own(part_of(call.values, rank_, call.count), part_of(call.input, rank_, call.count),
           call.count * static_cast<std::int64_t>(bytes_of(call.values.dtype)));
  for (int peer = 0; peer < world_size_; ++peer) {
    if (peer == rank_) continue;
    nccl_check(ncclSend(part_of(call.input, peer, call.count), count, type, peer, communicator, stream_.handle()),
               "ncclSend");
    nccl_check(ncclRecv(part_of(call.values, peer, call.count), count, type, peer, communicator, stream_.handle()),
               "ncclRecv");
  }
}

void NcclCollectives::finish_mean(const Call& call) const {
  if (call.op != ReduceOp::kMean || world_size_ == 1) return;
  if (call.collective == comm::Collective::kReduce && rank_ != call.root) return;  // only the root has the sum
  for (const Buffer& each : call.parts) divide(each.data, each.count, each.dtype, world_size_, stream_);
  if (call.parts.empty()) divide(call.values.data, call.values.count, call.values.dtype, world_size_, stream_);
}

}  // namespace lockstep::nccl
