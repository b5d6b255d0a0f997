#include "run/ranks.hpp"

#include "comm/process_group.hpp"

namespace lockstep::run {

int Ranks::rank() const noexcept { return group_ == nullptr ? 0 : group_->rank(); }

int Ranks::world_size() const noexcept { return group_ == nullptr ? 1 : group_->world_size(); }

int Ranks::local_world_size() const noexcept { return group_ == nullptr ? 1 : group_->context().local_world_size; }

void Ranks::sum(std::span<double> values) const {
  if (group_ != nullptr) group_->all_reduce(comm::host_buffer(values)).synchronize();
}

}  // namespace lockstep::run
