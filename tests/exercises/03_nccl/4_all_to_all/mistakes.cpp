#include <algorithm>

#include "03_nccl/4_all_to_all/all_to_all.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_group", "sends and receives are not in a group, so all ranks send before they receive",
     "ncclGroupStart() before the first of them, ncclGroupEnd() after the last."},
    {"group_per_peer", "every peer has a group of its own, and waits for the one before",
     "Start the group before the loop, and end it after the loop."},
    {"equal_parts", "the beginning of a part is taken to be its number times its own length",
     "Part p begins where parts 0 to p - 1 end: add up their lengths."},
    {"one_position", "one position is used for both arrays, although their parts differ in length",
     "Keep a position in `in` and another one in `out`."},
    {"receives_what_it_sends", "the number of elements to receive is taken from what is sent",
     "out.counts says how long the part of each peer is."},
    {"bytes_for_elements", "sends and receives are told the number of bytes", "Counts of NCCL are elements."},
    {"own_part_at_its_old_place", "this rank's own part is written where it was in `in`",
     "In `out` the parts before it have other lengths."},
    {"forgets_own_part", "this rank's own part is not copied", "It stays on the device: cudaMemcpyAsync()."},
    {"own_part_moves_no_position",
     "after this rank's own part the positions are not moved on, so later parts are too low",
     "Both arrays hold this rank's own part, too: add its length to both positions before you go on."},
    {"copies_on_the_host", "the host copies this rank's own part, although both arrays are in device memory",
     "cudaMemcpyAsync() with cudaMemcpyDeviceToDevice puts the copy into the stream."},
    {"elements_for_bytes", "the copy of this rank's own part has the number of elements where bytes are asked for",
     "cudaMemcpyAsync() counts bytes: times sizeof(float)."},
    {"copies_in_another_stream", "the copy of this rank's own part is in the default stream",
     "The stream is the last argument of cudaMemcpyAsync(): `in` may still be being written in the one that was "
     "given."},
    {"sends_in_another_stream", "sends and receives are in the default stream",
     "The stream is the last argument of ncclSend() and ncclRecv(): `in` may still be being written in it."},
    {"ignores_codes", "the codes that NCCL and CUDA return are not looked at",
     "nccl_check() and cuda_check() around every call."},
    {"host_waits", "the function waits for the stream", "The caller waits when it needs the result."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::nccl {

using exercise::is_mistake;

namespace {

void checked(ncclResult_t result, const char* call) {
  if (!is_mistake("ignores_codes")) nccl_check(result, call);
}

void checked(cudaError_t result, const char* call) {
  if (!is_mistake("ignores_codes")) cuda_check(result, call);
}

}  // namespace

void all_to_all(const Parts<float>& out, const Parts<const float>& in, int rank, ncclComm_t communicator,
                cudaStream_t stream) {
  const bool has_group = !is_mistake("no_group"), is_group_inside = is_mistake("group_per_peer");
  cudaStream_t const used = is_mistake("sends_in_another_stream") ? nullptr : stream;
  std::size_t sent_before = 0, received_before = 0;
  if (has_group && !is_group_inside) checked(ncclGroupStart(), "ncclGroupStart");
  for (int peer = 0; peer < static_cast<int>(in.counts.size()); ++peer) {
    const auto part = static_cast<std::size_t>(peer);
    const std::size_t sent = in.counts[part];
    const std::size_t received = is_mistake("receives_what_it_sends") ? sent : out.counts[part];
    if (is_mistake("equal_parts")) {
      sent_before = part * sent;
      received_before = part * received;
    }
    if (is_mistake("one_position")) received_before = sent_before;
    if (is_group_inside) checked(ncclGroupStart(), "ncclGroupStart");
    if (peer != rank) {
      const std::size_t factor = is_mistake("bytes_for_elements") ? sizeof(float) : 1;
      checked(ncclSend(in.first + sent_before, factor * sent, ncclFloat32, peer, communicator, used), "ncclSend");
      checked(ncclRecv(out.first + received_before, factor * received, ncclFloat32, peer, communicator, used),
              "ncclRecv");
    } else if (is_mistake("copies_on_the_host")) {
      std::copy_n(in.first + sent_before, sent, out.first + received_before);
    } else if (!is_mistake("forgets_own_part")) {
      const std::size_t bytes = is_mistake("elements_for_bytes") ? sent : sent * sizeof(float);
      checked(cudaMemcpyAsync(out.first + (is_mistake("own_part_at_its_old_place") ? sent_before : received_before),
                              in.first + sent_before, bytes, cudaMemcpyDeviceToDevice,
                              is_mistake("copies_in_another_stream") ? nullptr : stream),
              "copying");
    }
    if (is_group_inside) checked(ncclGroupEnd(), "ncclGroupEnd");
    if (is_mistake("own_part_moves_no_position") && peer == rank) continue;
    sent_before += sent;
    received_before += received;
  }
  if (has_group && !is_group_inside) checked(ncclGroupEnd(), "ncclGroupEnd");
  if (is_mistake("host_waits")) checked(cudaStreamSynchronize(stream), "waiting");
}

}  // namespace lockstep::nccl
