#pragma once
/// @file
/// Holds up a device's stream: later work in the stream does not run until the test opens the gate.
#include <cuda_runtime_api.h>

#include <chrono>
#include <future>

#include "base/error.hpp"
#include "device/stream.hpp"

namespace lockstep::test {

/// A gate in a stream. Must live until it is opened and the stream has passed it.
class StreamGate {
 public:
  explicit StreamGate(const Stream& stream) {
    make_current(stream.device());
    const auto pass = [](void* gate) { static_cast<StreamGate*>(gate)->opened_.wait_for(std::chrono::seconds(20)); };
    require(cudaLaunchHostFunc(stream.handle(), pass, this) == cudaSuccess, "a gate cannot be put into the stream");
  }
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;

  /// Lets the stream continue. Call once.
  void open() { open_.set_value(); }

 private:
  std::promise<void> open_;
  std::future<void> opened_ = open_.get_future();
};

}  // namespace lockstep::test
