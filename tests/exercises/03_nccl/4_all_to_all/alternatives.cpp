#include "exercise/alternatives.hpp"

#include <numeric>

#include "03_nccl/4_all_to_all/all_to_all.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"sends_to_itself", "this rank's own part goes through ncclSend() and ncclRecv() too"},
    {"skips_empty_parts", "no call is made for a part without elements"},
    {"counts_bytes", "the parts are sent as bytes, with ncclUint8"},
    {"two_loops", "all receives are issued before the first send, and the copy comes first of all"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::nccl {

using exercise::is_alternative;

namespace {

std::size_t begin_of(std::span<const std::size_t> counts, std::size_t part) {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(part), std::size_t{0});
}

}  // namespace

void all_to_all(const Parts<float>& out, const Parts<const float>& in, int rank, ncclComm_t communicator,
                cudaStream_t stream) {
  const bool is_bytes = is_alternative("counts_bytes");
  const std::size_t unit = is_bytes ? sizeof(float) : 1, own = static_cast<std::size_t>(rank);
  const ncclDataType_t type = is_bytes ? ncclUint8 : ncclFloat32;
  const auto is_left_out = [&](std::size_t peer, std::size_t count) {
    return (peer == own && !is_alternative("sends_to_itself")) || (count == 0 && is_alternative("skips_empty_parts"));
  };
  if (!is_alternative("sends_to_itself"))
    cuda_check(cudaMemcpyAsync(out.first + begin_of(out.counts, own), in.first + begin_of(in.counts, own),
                               in.counts[own] * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  nccl_check(ncclGroupStart());
  for (std::size_t peer = 0; peer < out.counts.size(); ++peer)
    if (!is_left_out(peer, out.counts[peer]))
      nccl_check(ncclRecv(out.first + begin_of(out.counts, peer), out.counts[peer] * unit, type, static_cast<int>(peer),
                          communicator, stream));
  for (std::size_t peer = in.counts.size(); peer-- > 0;)
    if (!is_left_out(peer, in.counts[peer]))
      nccl_check(ncclSend(in.first + begin_of(in.counts, peer), in.counts[peer] * unit, type, static_cast<int>(peer),
                          communicator, stream));
  nccl_check(ncclGroupEnd());
}

}  // namespace lockstep::nccl
