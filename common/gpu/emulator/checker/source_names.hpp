#pragma once
/// @file
/// Names of kernels and source lines for findings and metrics.
#include <string>

#include "emulator/checker/findings.hpp"
#include "emulator/checker/sites.hpp"
#include "emulator/checker/symbolizer.hpp"
#include "emulator/cuda/lockstep_emulator/kernel_call.h"

namespace lockstep::emulator::checker {

/// Empty for an empty place.
FindingPlace to_finding_place(SourcePlace place);

/// Names the running kernel and the source lines of its sites. Thread safety: none; guarded by the checker's lock.
class SourceNames {
 public:
  /// Sets the running kernel; null: none. `call` must live until the next call of this function.
  void set_kernel(const KernelCall* call);
  /// The kernel's name; empty if there is none.
  [[nodiscard]] const std::string& kernel();
  /// The site of a place identified by the engine.
  [[nodiscard]] Site site_of(SourcePlace place) { return sites_.of(place); }
  /// The source line of a site in the user's code.
  [[nodiscard]] FindingPlace place_of(Site site);

 private:
  Sites sites_;
  Symbolizer symbolizer_;
  const KernelCall* call_ = nullptr;
  std::string kernel_;  // of call_, after the first request
};

}  // namespace lockstep::emulator::checker
