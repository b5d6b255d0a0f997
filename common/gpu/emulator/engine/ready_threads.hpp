#pragma once
/// @file
/// Which thread of a block comes next.
#include <array>
#include <cstdint>

#include "emulator/engine/runnable_set.hpp"

namespace lockstep::emulator {

/// The threads of a block that can run, in the order that the launch's seed gives them their turns. Threads are named
/// by their rank in the block.
class ReadyThreads {
 public:
  /// @param thread_count  At most 1024. @param seed  0: by rank; 1: backwards; others: shuffled for each block.
  void begin_launch(std::uint32_t thread_count, std::uint64_t seed);
  /// All threads are ready. @param block  Rank in the grid.
  void begin_block(std::uint64_t block);

  /// The thread can run.
  void insert(std::uint32_t thread) noexcept { places_ready_.insert(place_of_[thread]); }
  /// It cannot.
  void erase(std::uint32_t thread) noexcept { places_ready_.erase(place_of_[thread]); }
  /// All can.
  void insert_all() noexcept { places_ready_.fill(count_); }
  /// Whether none can.
  [[nodiscard]] bool is_empty() const noexcept { return places_ready_.is_empty(); }
  /// Whose turn it is after the one that was given out last. It stays ready.
  /// @pre !is_empty()
  [[nodiscard]] std::uint32_t take_turn() noexcept {
    const std::uint32_t place = places_ready_.next(next_place_);
    next_place_ = place + 1;
    return order_[place];
  }

 private:
  void note_places() noexcept;

  std::uint64_t seed_ = 0;
  std::uint32_t count_ = 0;
  std::array<std::uint16_t, 1024> order_{};     ///< The thread at each place.
  std::array<std::uint16_t, 1024> place_of_{};  ///< The place of each thread.
  RunnableSet places_ready_;
  std::uint32_t next_place_ = 0;
};

}  // namespace lockstep::emulator
