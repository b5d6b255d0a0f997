#include "exercises/03_nccl/nccl_rank.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "03_nccl/nccl_check.hpp"
#include "device/cuda_check.hpp"

namespace lockstep::exercise {

using nccl::nccl_check;

TrialStream::TrialStream() { cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }

TrialStream::~TrialStream() { cudaStreamDestroy(stream_); }

DeviceFloats::DeviceFloats(std::size_t count) : count_(count) {
  cuda_check(cudaMalloc(&data_, std::max<std::size_t>(count, 1) * sizeof(float)));
}

DeviceFloats::DeviceFloats(std::span<const float> values) : DeviceFloats(values.size()) {
  cuda_check(cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
}

DeviceFloats::DeviceFloats(DeviceFloats&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}

DeviceFloats::~DeviceFloats() { cudaFree(data_); }

std::vector<float> DeviceFloats::values_after(cudaStream_t stream) const {
  cuda_check(cudaStreamSynchronize(stream));  // and not in a copy: here the progress board shows it
  std::vector<float> values(count_);
  cuda_check(cudaMemcpy(values.data(), data_, count_ * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

ncclComm_t join_all_ranks(Question& question, bool is_blocking) {
  ncclUniqueId id{};
  if (question.rank() == 0) {
    nccl_check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    for (int peer = 1; peer < question.world_size(); ++peer)
      question.link(peer).send(std::as_bytes(std::span(id.internal)));
  } else {
    question.link(0).receive(std::as_writable_bytes(std::span(id.internal)));
  }
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = is_blocking ? 1 : 0;
  ncclComm_t communicator = nullptr;
  nccl_check(ncclCommInitRankConfig(&communicator, question.world_size(), id, question.rank(), &config),
             "ncclCommInitRankConfig");
  for (ncclResult_t state = ncclInProgress; state == ncclInProgress;) {
    nccl_check(ncclCommGetAsyncError(communicator, &state), "ncclCommGetAsyncError");
    nccl_check(state, "joining");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return communicator;
}

}  // namespace lockstep::exercise
