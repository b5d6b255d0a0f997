#pragma once
/// @file
/// A dropout mask that a recorded operation keeps until its backward.
#include <cstdint>
#include <vector>

#include "kernels/types.hpp"

namespace lockstep::autograd {

/// A DropoutMask with sample ids of its own, so that the caller's may go.
class DropoutSite {
 public:
  /// @param mask  Its sample ids are copied.
  explicit DropoutSite(const kernels::DropoutMask& mask)
      : sample_ids_(mask.sample_ids.begin(), mask.sample_ids.end()), mask_(mask) {}

  /// Valid as long as this object stays where it is.
  [[nodiscard]] kernels::DropoutMask mask() const noexcept {
    kernels::DropoutMask mask = mask_;
    mask.sample_ids = sample_ids_;
    return mask;
  }

 private:
  std::vector<std::int64_t> sample_ids_;
  kernels::DropoutMask mask_;
};

}  // namespace lockstep::autograd
