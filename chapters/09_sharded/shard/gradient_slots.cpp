#include "09_sharded/shard/gradient_slots.hpp"

#include <algorithm>
#include <map>

#include "device/memory_limit.hpp"

namespace lockstep::sharded {

GradientSlots::GradientSlots(std::span<const Unit> units, comm::ProcessGroup& group, Device device) {
  constexpr int kMostOfOneSize = 2;
  const AllocationPurpose purpose("slots for gradients");
  std::map<std::int64_t, int> units_of_size;
  for (const Unit& unit : units) ++units_of_size[unit.layout.count()];
  for (const auto& [count, number] : units_of_size) {
    for (int i = 0; i < std::min(number, kMostOfOneSize); ++i)
      slots_.push_back({.memory = allocate_elements(count, group, device)});
  }
}

Tensor GradientSlots::take(std::int64_t count) {
  for (Slot& slot : slots_) {
    if (!slot.is_free || slot.memory.count() != count) continue;
    slot.is_free = false;
    return slot.memory;
  }
  return {};
}

void GradientSlots::give_back(const Tensor& slot) {
  for (Slot& own : slots_)
    if (own.memory.storage() == slot.storage()) own.is_free = true;
}

}  // namespace lockstep::sharded
