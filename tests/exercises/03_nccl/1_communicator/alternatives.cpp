#include "exercise/alternatives.hpp"

#include <span>
#include <thread>

#include "03_nccl/1_communicator/communicator.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"tells_in_a_chain", "the id goes from each rank to the next one instead of from rank 0 to all"},
    {"waits_with_an_event", "an event is asked until it has happened, instead of cudaStreamSynchronize()"},
    {"id_in_two_halves", "the id is sent in two halves"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::nccl {

using exercise::is_alternative;

ncclUniqueId exchange_unique_id(const Place& place) {
  ncclUniqueId id{};
  const std::span<char> all(id.internal);
  if (place.rank == 0) nccl_check(ncclGetUniqueId(&id));
  if (is_alternative("tells_in_a_chain")) {
    if (place.rank > 0) place.link(place.rank - 1).receive(std::as_writable_bytes(all));
    if (place.rank + 1 < place.world_size) place.link(place.rank + 1).send(std::as_bytes(all));
    return id;
  }
  for (const std::span<char> half : {all.first(all.size() / 2), all.subspan(all.size() / 2)}) {
    if (place.rank > 0) place.link(0).receive(std::as_writable_bytes(half));
    for (int peer = place.world_size - 1; place.rank == 0 && peer > 0; --peer)
      place.link(peer).send(std::as_bytes(half));
  }
  return id;
}

void all_reduce_once(float* values, std::size_t count, const Place& place, cudaStream_t stream) {
  ncclComm_t communicator = nullptr;
  nccl_check(ncclCommInitRank(&communicator, place.world_size, exchange_unique_id(place), place.rank));
  nccl_check(ncclAllReduce(values, values, count, ncclFloat, ncclSum, communicator, stream), "ncclAllReduce");
  if (is_alternative("waits_with_an_event")) {
    cudaEvent_t done = nullptr;
    cuda_check(cudaEventCreate(&done));
    cuda_check(cudaEventRecord(done, stream));
    while (cudaEventQuery(done) == cudaErrorNotReady) std::this_thread::yield();
    cuda_check(cudaEventDestroy(done));
  } else {
    cuda_check(cudaDeviceSynchronize());
  }
  nccl_check(ncclCommDestroy(communicator), "ncclCommDestroy");
}

}  // namespace lockstep::nccl
