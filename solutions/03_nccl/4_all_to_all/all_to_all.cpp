#include "03_nccl/4_all_to_all/all_to_all.hpp"

namespace lockstep::nccl {

void all_to_all(const Parts<float>& out, const Parts<const float>& in, int rank, ncclComm_t communicator,
                cudaStream_t stream) {
  // SOLUTION(03.4) all_to_all: in one group, send to each other rank and receive from it; copy this rank's own part
  float* to = out.first;
  const float* from = in.first;
  const auto world_size = static_cast<int>(in.counts.size());
  nccl_check(ncclGroupStart(), "ncclGroupStart");
  for (int peer = 0; peer < world_size; ++peer) {
    const std::size_t sent = in.counts[peer], received = out.counts[peer];
    if (peer == rank) {
      cuda_check(cudaMemcpyAsync(to, from, sent * sizeof(float), cudaMemcpyDeviceToDevice, stream), "copying");
    } else {
      nccl_check(ncclSend(from, sent, ncclFloat32, peer, communicator, stream), "ncclSend");
      nccl_check(ncclRecv(to, received, ncclFloat32, peer, communicator, stream), "ncclRecv");
    }
    from += sent;
    to += received;
  }
  nccl_check(ncclGroupEnd(), "ncclGroupEnd");
  // END SOLUTION
}

}  // namespace lockstep::nccl
