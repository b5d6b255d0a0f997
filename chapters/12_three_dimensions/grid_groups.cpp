#include "12_three_dimensions/grid_groups.hpp"

#include <exception>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "comm/objects.hpp"

namespace lockstep::grid {
namespace {

// The same in all processes of a host, and in no other's.
std::string own_host() { return read_file("/proc/sys/kernel/random/boot_id"); }

std::vector<std::string> hosts_of_ranks(Group& world, const std::string& own) {
  std::vector<std::string> hosts;
  for (const nlohmann::json& host : comm::all_gather_object(world, own)) hosts.push_back(host.get<std::string>());
  return hosts;
}

// All ranks find the same error.
void require_possible(Group& world, const RankGrid& grid, const std::string& host) {
  try {
    require_tensor_on_one_host(grid, hosts_of_ranks(world, host));
  } catch (const UsageError& error) {
    world.prepare_common_error(error.what());
    throw;
  }
}

// Ranks of a line have the same color. A line's first rank is in no other line of its axis.
std::unique_ptr<Group> group_along(Group& world, const RankGrid& grid, Axis axis) {
  return world.split(/*color=*/grid.line(axis).front(), /*key=*/grid.place().along(axis));
}

std::string with_rank(const RankGrid& grid, int rank) {
  return concat("rank ", rank, " (", grid.place_of(rank).text(), ")");
}

}  // namespace

Group& GridGroups::along(Axis axis) const {
  switch (axis) {
    case Axis::kPipeline:
      return *pipeline;
    case Axis::kData:
      return *data;
    case Axis::kTensor:
      break;
  }
  return *tensor;
}

GridGroups split(Group& world, const RankGrid& grid, const SplitOptions& options) {
  require(world.world_size() == grid.shape().ranks() && world.rank() == grid.rank(), "split: rank ", world.rank(),
          " of ", world.world_size(), " has the grid of rank ", grid.rank(), " of ", grid.shape().ranks());
  require_possible(world, grid, options.host.empty() ? own_host() : options.host);
  GridGroups groups;
  groups.tensor = group_along(world, grid, Axis::kTensor);
  groups.data = group_along(world, grid, Axis::kData);
  groups.pipeline = group_along(world, grid, Axis::kPipeline);
  return groups;
}

std::string describe(const RankGrid& grid, int other) {
  std::string shared = "no group";
  for (const Axis axis : kAxes) {
    const std::vector<int> line = grid.line(axis);
    if (grid.line_of(other, axis) == line) shared = group_name(axis, line);
  }
  return concat(with_rank(grid, other), " is in ", shared, " with this ", with_rank(grid, grid.rank()));
}

void rethrow_with_place(const RankGrid& grid) {
  try {
    throw;
  } catch (const PeerFailedError& error) {
    const int culprit = error.culprit();
    const bool is_other = culprit >= 0 && culprit < grid.shape().ranks() && culprit != grid.rank();
    throw PeerFailedError(
        concat(error.what(), "; ", is_other ? describe(grid, culprit) : "this is " + with_rank(grid, grid.rank())),
        culprit);
  } catch (const TimeoutError& error) {
    throw TimeoutError(concat(error.what(), "; this is ", with_rank(grid, grid.rank())));
  } catch (const MismatchError& error) {
    throw MismatchError(concat(error.what(), "; this is ", with_rank(grid, grid.rank())));
  }
}

}  // namespace lockstep::grid
