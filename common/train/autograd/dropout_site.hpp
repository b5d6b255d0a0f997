#pragma once
/// @file
/// A dropout mask that a recorded operation keeps until its backward.
#include <cstdint>
#include <vector>

#include "kernels/types.hpp"

namespace lockstep::autograd {

/// A DropoutMask that owns a copy of its sample ids, so that the caller's may be freed.
class DropoutSite {
 public:
  explicit DropoutSite(const kernels::DropoutMask& mask)
      : sample_ids_(mask.sample_ids.begin(), mask.sample_ids.end()), mask_(mask) {}

  /// Valid until this object moves or dies.
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
