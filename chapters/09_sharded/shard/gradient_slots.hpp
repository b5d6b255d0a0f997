#pragma once
/// @file
/// Memory in which the gradients of units lie until they have been reduced.
#include <cstdint>
#include <span>
#include <vector>

#include "09_sharded/shard/unit.hpp"
#include "comm/process_group.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::sharded {

/// Memory for the whole gradients of a few units (stage 2): all units of one size share two slots, so that one can be
/// written while the other one is sent. Slots are memory of the group, whose making is collective: so all are made at
/// once, and handed out without a word to other ranks.
class GradientSlots {
 public:
  /// Makes the slots. Collective.
  GradientSlots(std::span<const Unit> units, comm::ProcessGroup& group, Device device);

  /// A free slot, [count], with any elements; undefined if all of that size are in use.
  [[nodiscard]] Tensor take(std::int64_t count);
  /// Frees a slot; other memory is only let go.
  void give_back(const Tensor& slot);

 private:
  struct Slot {
    Tensor memory;
    bool is_free = true;
  };
  std::vector<Slot> slots_;
};

}  // namespace lockstep::sharded
