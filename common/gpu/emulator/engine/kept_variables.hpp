#pragma once
/// @file
/// Static shared memory of blocks that are set aside.
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace lockstep::emulator {

/// Variables of a program of which each block has its own contents, though there is only one of each. Only those that a
/// block has changed are kept: the others may belong to host code that runs meanwhile.
class KeptVariables {
 public:
  /// Starts anew with these variables.
  void set(std::vector<std::span<std::byte>> variables) {
    candidates_ = std::move(variables);
    is_used_.assign(candidates_.size(), false);
    used_.clear();
  }
  /// Call before a block runs.
  void block_begins() { before_ = contents(); }
  /// Call after it has run. @return  What to pass to restore().
  [[nodiscard]] std::vector<std::byte> save() {
    const std::byte* before = before_.data();
    for (std::size_t i = 0; i < candidates_.size(); before += candidates_[i++].size()) {
      if (is_used_[i] || std::equal(candidates_[i].begin(), candidates_[i].end(), before)) continue;
      is_used_[i] = true;
      used_.push_back(candidates_[i]);
    }
    return contents();
  }
  void restore(std::span<const std::byte> saved) {
    const std::byte* from = saved.data();
    for (std::size_t i = 0; i < candidates_.size(); from += candidates_[i++].size()) {
      if (is_used_[i]) std::copy_n(from, candidates_[i].size(), candidates_[i].begin());
    }
  }
  /// Those that blocks have changed.
  [[nodiscard]] std::span<const std::span<std::byte>> used() const noexcept { return used_; }

 private:
  [[nodiscard]] std::vector<std::byte> contents() const {
    std::vector<std::byte> all;
    for (const std::span<std::byte> variable : candidates_) all.insert(all.end(), variable.begin(), variable.end());
    return all;
  }

  std::vector<std::span<std::byte>> candidates_;
  std::vector<bool> is_used_;
  std::vector<std::span<std::byte>> used_;
  std::vector<std::byte> before_;
};

}  // namespace lockstep::emulator
