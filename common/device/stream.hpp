#pragma once
/// @file
/// An ordered queue of work on one device.
#include "device/device.hpp"

namespace lockstep {

/// Work issued to one stream runs in issue order; work of different streams may overlap.
/// On the CPU a stream is the calling thread: whatever is issued has run when the call returns.
class Stream {
 public:
  /// @param device  Where its work runs.
  explicit Stream(Device device = {}) noexcept : device_(device) {}

  /// Where its work runs.
  [[nodiscard]] Device device() const noexcept { return device_; }

 private:
  Device device_;
};

}  // namespace lockstep
