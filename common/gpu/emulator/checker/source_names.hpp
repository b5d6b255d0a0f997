#pragma once
/// @file
/// Names for what findings and metrics speak of: a kernel, a line of source.
#include <string>

#include "emulator/checker/findings.hpp"
#include "emulator/checker/sites.hpp"
#include "emulator/checker/symbolizer.hpp"
#include "emulator/cuda/lockstep_emulator/kernel_call.h"

namespace lockstep::emulator::checker {

/// As the checker writes a place; empty for an empty one.
FindingPlace to_finding_place(SourcePlace place);

/// Names the running kernel and the source lines of its sites. Thread safety: none; the checker's lock.
class SourceNames {
 public:
  /// The kernel that runs from here on. `call` must live until the next; null: none.
  void set_kernel(const KernelCall* call);
  /// Its name; empty if there is none.
  [[nodiscard]] const std::string& kernel();
  /// The site of a place that the engine names.
  [[nodiscard]] Site site_of(SourcePlace place) { return sites_.of(place); }
  /// The user's line of a site.
  [[nodiscard]] FindingPlace place_of(Site site);

 private:
  Sites sites_;
  Symbolizer symbolizer_;
  const KernelCall* call_ = nullptr;
  std::string kernel_;  // of call_, once asked for
};

}  // namespace lockstep::emulator::checker
