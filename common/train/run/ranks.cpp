#include "run/ranks.hpp"

#include "base/counted.hpp"
#include "base/error.hpp"
#include "comm/process_group.hpp"

namespace lockstep::run {

Ranks::Ranks(comm::ProcessGroup* group, int data_ranks) : group_(group), data_ranks_(data_ranks) {
  require(data_ranks >= 1 && world_size() % data_ranks == 0, "a run: ", counted(world_size(), "rank"),
          " cannot share a batch in ", data_ranks, " equal groups");
}

int Ranks::rank() const noexcept { return group_ == nullptr ? 0 : group_->rank(); }

int Ranks::world_size() const noexcept { return group_ == nullptr ? 1 : group_->world_size(); }

int Ranks::data_ranks() const noexcept { return data_ranks_ == 0 ? world_size() : data_ranks_; }

int Ranks::local_world_size() const noexcept { return group_ == nullptr ? 1 : group_->context().local_world_size; }

void Ranks::sum(std::span<double> values) const {
  if (group_ != nullptr) group_->all_reduce(comm::host_buffer(values)).synchronize();
}

}  // namespace lockstep::run
