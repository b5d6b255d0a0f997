#pragma once
/// @file
/// Stores each finding once.
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "emulator/checker/findings.hpp"

namespace lockstep::emulator::checker {

/// The findings of a process. Thread safety: all calls from any thread.
class FindingLog {
 public:
  /// Further findings are kept and listed at the end, but not printed when found.
  static constexpr std::size_t kMostPrinted = 20;

  /// The instance of this process; never destroyed.
  static FindingLog& instance();

  /// Counts a finding, and prints it if its kind and places are new. @return  Its index.
  std::size_t add(const Finding& finding);
  /// Counts another occurrence of the finding.
  void add_again(std::size_t index);
  void clear();
  /// In the order found.
  [[nodiscard]] std::vector<Finding> all() const;
  /// Total number of occurrences.
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// Increased by every clear(), which invalidates indices.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  void set_printing(bool is_on) noexcept { is_printing_ = is_on; }
  [[nodiscard]] bool is_printing() const noexcept { return is_printing_; }

 private:
  using Key = std::pair<FindingKind, std::vector<std::pair<std::string, unsigned>>>;
  static Key key_of(const Finding& finding);

  mutable std::mutex mutex_;
  std::vector<Finding> findings_;
  std::map<Key, std::size_t> index_;
  std::atomic<std::uint64_t> total_{0};
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> is_printing_{true};
};

}  // namespace lockstep::emulator::checker
