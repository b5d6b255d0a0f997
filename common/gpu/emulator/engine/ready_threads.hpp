#pragma once
/// @file
/// Chooses the next thread of a block.
#include <array>
#include <cstdint>

#include "emulator/engine/runnable_set.hpp"

namespace lockstep::emulator {

/// The ready threads of a block, which take turns in an order drawn from the launch's seed. Threads are identified by
/// their rank in the block.
class ReadyThreads {
 public:
  /// @param thread_count  At most 1024. @param seed  0: by rank; 1: by descending rank; others: shuffled for each
  ///                      block.
  void begin_launch(std::uint32_t thread_count, std::uint64_t seed);
  /// Makes all threads ready. @param block  Rank in the grid.
  void begin_block(std::uint64_t block);

  void insert(std::uint32_t thread) noexcept { places_ready_.insert(place_of_[thread]); }
  void erase(std::uint32_t thread) noexcept { places_ready_.erase(place_of_[thread]); }
  void insert_all() noexcept { places_ready_.fill(count_); }
  [[nodiscard]] bool is_empty() const noexcept { return places_ready_.is_empty(); }
  /// The next thread after the one returned last. It stays ready.
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
