#include "emulator/engine/ready_threads.hpp"

#include <utility>

#include "base/philox.hpp"

namespace lockstep::emulator {

void ReadyThreads::begin_launch(std::uint32_t thread_count, std::uint64_t seed) {
  seed_ = seed;
  count_ = thread_count;
  for (std::uint32_t place = 0; place < count_; ++place) {
    order_[place] = static_cast<std::uint16_t>(seed == 1 ? count_ - 1 - place : place);
  }
  note_places();
}

void ReadyThreads::begin_block(std::uint64_t block) {
  next_place_ = 0;
  insert_all();
  if (seed_ <= 1) return;
  PhiloxSequence random(seed_, block);
  for (std::uint32_t left = count_; left > 1; --left) std::swap(order_[left - 1], order_[random.next_below(left)]);
  note_places();
}

void ReadyThreads::note_places() noexcept {
  for (std::uint32_t place = 0; place < count_; ++place) place_of_[order_[place]] = static_cast<std::uint16_t>(place);
}

}  // namespace lockstep::emulator
