#pragma once
/// @file
/// Small numbers for places that the engine identifies by file and line.
#include <vector>

#include "emulator/checker/access.hpp"
#include "emulator/cuda/lockstep_emulator/source_place.h"

namespace lockstep::emulator::checker {

/// Returns the same Site for the same place. No program counter is below kFirstAddress, so both fit one number.
class Sites {
 public:
  /// Smaller sites are numbers, larger ones program counters (Linux maps nothing below).
  static constexpr Site kFirstAddress = 65536;

  /// The number of a place; 0 for an empty one.
  Site of(SourcePlace place) {
    if (place.file == nullptr) return 0;
    if (!places_.empty() && places_[last_] == place) return last_ + 1;
    for (last_ = 0; last_ < places_.size(); ++last_) {
      if (places_[last_] == place) return last_ + 1;
    }
    if (places_.size() + 1 >= kFirstAddress) return 0;
    places_.push_back(place);
    return last_ + 1;
  }
  /// The place of a number; empty if there is none.
  [[nodiscard]] SourcePlace place(Site site) const {
    return site == 0 || site > places_.size() ? SourcePlace{} : places_[site - 1];
  }

 private:
  std::vector<SourcePlace> places_;
  std::size_t last_ = 0;  // the search begins at the place returned last
};

}  // namespace lockstep::emulator::checker
