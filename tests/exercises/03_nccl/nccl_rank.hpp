#pragma once
/// @file
/// For subjects of chapter 03: device memory, a stream, and a communicator of all ranks.
#include <nccl.h>

#include <span>
#include <vector>

#include "exercise/subject.hpp"

namespace lockstep::exercise {

/// A stream that waits for no other one.
class TrialStream {
 public:
  TrialStream();
  ~TrialStream();
  TrialStream(const TrialStream&) = delete;
  TrialStream& operator=(const TrialStream&) = delete;

  [[nodiscard]] cudaStream_t handle() const noexcept { return stream_; }  ///< CUDA's.

 private:
  cudaStream_t stream_ = nullptr;
};

/// Floats in device memory.
class DeviceFloats {
 public:
  /// Not initialised; room for at least one.
  explicit DeviceFloats(std::size_t count);
  /// A copy that is there when this returns.
  explicit DeviceFloats(std::span<const float> values);
  ~DeviceFloats();
  DeviceFloats(DeviceFloats&& other) noexcept;
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;

  [[nodiscard]] float* data() const noexcept { return data_; }         ///< On the device.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }  ///< Elements.
  /// Their values once the work in `stream` is done; waits for it.
  [[nodiscard]] std::vector<float> values_after(cudaStream_t stream) const;

 private:
  float* data_ = nullptr;
  std::size_t count_;
};

/// Joins all ranks of the trial; the caller ends the communicator.
/// @param is_blocking  Of its calls: false as for ncclConfig_t's blocking = 0. Returns when it is ready in both cases.
[[nodiscard]] ncclComm_t join_all_ranks(Question& question, bool is_blocking = true);

}  // namespace lockstep::exercise
