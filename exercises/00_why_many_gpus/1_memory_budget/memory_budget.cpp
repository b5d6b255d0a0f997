#include "00_why_many_gpus/1_memory_budget/memory_budget.hpp"

namespace lockstep::plan {

MemoryUse memory_use(double parameters, Precision precision, Sharding sharding, int world_size) {
  MemoryUse use;
  // TODO(00.1): fill in the four numbers of `use`
  lockstep::todo("00.1 memory_use");
  return use;
}

}  // namespace lockstep::plan
