#include <span>

#include "03_nccl/1_communicator/communicator.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"everyone_makes_an_id", "every rank makes an id of its own instead of receiving rank 0's",
     "Each rank then waits for others to join its own communicator: only rank 0 calls ncclGetUniqueId."},
    {"tells_one_rank", "rank 0 sends the id to rank 1 only", "All other ranks need it: loop over them."},
    {"eight_bytes", "only the first 8 bytes of the id are sent, the size of a pointer",
     "sizeof of a pointer is 8: the id has NCCL_UNIQUE_ID_BYTES bytes."},
    {"id_per_rank", "rank 0 makes another id for each rank that it tells",
     "All ranks need the same id: call ncclGetUniqueId once, before the loop."},
    {"joins_in_reverse", "the ranks join with other numbers than their own, in reverse order",
     "The last argument of ncclCommInitRank() is this rank, as in place.rank."},
    {"alone_does_nothing", "with one rank the function returns at once, without waiting for the stream",
     "`values` may still be being written in the stream: one rank is no special case."},
    {"reduces_to_rank_0", "only rank 0 gets the sum, as with ncclReduce()", "All ranks need it: ncclAllReduce()."},
    {"mean_for_sum", "the ranks' values are averaged, not added", "Which ncclRedOp_t is asked for?"},
    {"default_stream", "the all-reduce goes into the default stream instead of the one that was given",
     "The stream is the last argument of ncclAllReduce."},
    {"waits_for_nothing", "nothing waits for the all-reduce before the communicator is destroyed",
     "cudaStreamSynchronize() returns when all that was put into the stream is done."},
    {"never_destroys", "the communicator is never destroyed", "ncclCommDestroy() is the last call of its life."},
    {"ignores_codes", "the codes that NCCL returns are not looked at", "nccl_check() around every call."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::nccl {

using exercise::is_mistake;

ncclUniqueId exchange_unique_id(const Place& place) {
  ncclUniqueId id{};
  if (place.rank == 0 || is_mistake("everyone_makes_an_id")) nccl_check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  const std::span<char> bytes = std::span(id.internal).first(is_mistake("eight_bytes") ? 8 : sizeof id.internal);
  if (place.rank == 0) {
    const int end = is_mistake("tells_one_rank") ? std::min(2, place.world_size) : place.world_size;
    for (int peer = 1; peer < end; ++peer) {
      if (is_mistake("id_per_rank") && peer > 1) nccl_check(ncclGetUniqueId(&id), "ncclGetUniqueId");
      place.link(peer).send(std::as_bytes(bytes));
    }
  } else if (!is_mistake("everyone_makes_an_id")) {
    place.link(0).receive(std::as_writable_bytes(bytes));
  }
  return id;
}

void all_reduce_once(float* values, std::size_t count, const Place& place, cudaStream_t stream) {
  if (is_mistake("alone_does_nothing") && place.world_size == 1) return;
  const ncclUniqueId id = exchange_unique_id(place);
  ncclComm_t communicator = nullptr;
  cudaStream_t const used = is_mistake("default_stream") ? nullptr : stream;
  const ncclRedOp_t op = is_mistake("mean_for_sum") ? ncclAvg : ncclSum;
  const auto check = [](ncclResult_t result, const char* call) {
    if (!is_mistake("ignores_codes")) nccl_check(result, call);
  };
  const int joined_as = is_mistake("joins_in_reverse") ? place.world_size - 1 - place.rank : place.rank;
  check(ncclCommInitRank(&communicator, place.world_size, id, joined_as), "ncclCommInitRank");
  if (is_mistake("reduces_to_rank_0")) {
    check(ncclReduce(values, values, count, ncclFloat32, op, 0, communicator, used), "ncclReduce");
  } else {
    check(ncclAllReduce(values, values, count, ncclFloat32, op, communicator, used), "ncclAllReduce");
  }
  if (!is_mistake("waits_for_nothing")) cuda_check(cudaStreamSynchronize(used), "waiting for the all-reduce");
  if (!is_mistake("never_destroys")) check(ncclCommDestroy(communicator), "ncclCommDestroy");
}

}  // namespace lockstep::nccl
