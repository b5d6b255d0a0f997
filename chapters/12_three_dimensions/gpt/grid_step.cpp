#include "12_three_dimensions/gpt/grid_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "06_gpt_ddp/replica_check.hpp"
#include "10_tensor_parallel/gpt/tensor_step.hpp"
#include "base/error.hpp"
#include "comm/buffer.hpp"
#include "nn/parameter_units.hpp"
#include "optim/clip.hpp"

namespace lockstep::grid {
namespace {

// The ranks that have parts of the same model as `rank`.
std::vector<int> ranks_of_model(const RankGrid& grid, int rank) {
  std::vector<int> ranks;
  for (int other = 0; other < grid.shape().ranks(); ++other)
    if (grid.place_of(other).data == grid.place_of(rank).data) ranks.push_back(other);
  return ranks;
}

// As most of its model's ranks have; of two that differ, as the first.
std::int64_t usual_hash(const RankGrid& grid, int rank, const std::vector<std::int64_t>& hashes) {
  std::vector<std::int64_t> of_model;
  for (const int other : ranks_of_model(grid, rank)) of_model.push_back(hashes[static_cast<std::size_t>(other)]);
  return *std::ranges::max_element(of_model, {}, [&](std::int64_t hash) { return std::ranges::count(of_model, hash); });
}

// "rank 5 (pipeline 1, data 0, tensor 1; in pipeline{1,5} and tensor{4,5})"
std::string with_groups(const RankGrid& grid, int rank) {
  std::string groups;
  for (const Axis axis : {Axis::kPipeline, Axis::kTensor}) {
    if (grid.shape().along(axis) == 1) continue;
    groups += concat(groups.empty() ? "; in " : " and ", group_name(axis, grid.line_of(rank, axis)));
  }
  return concat("rank ", rank, " (", grid.place_of(rank).text(), groups, ")");
}

}  // namespace

void ShardedPart::launch(std::size_t unit) {
  if (rows_ == RowLayout::kDivided && units()[unit].name == nn::kVectors)
    tensor_parallel::sum_partial_gradients(part_, tensor_);
  ShardedDataParallel::launch(unit);
}

GridStep::GridStep(nn::GptPart& part, Group& world, const GridGroups& groups, const StepOptions& options)
    : part_(part),
      world_(world),
      groups_(groups),
      sharded_(part, *groups.data, *groups.tensor, options.rows),
      pipeline_(part, *groups.pipeline, options.schedule) {}

// Gradients of the micro-batches add up in a stage, and its last backward pass sends them to the data ranks.
double GridStep::run(std::span<const run::MicroBatch> micro_batches, const pipeline::StageObserver& observer) {
  std::optional<ShardedPart::NoSync> accumulating(sharded_);
  const double mean_loss =
      pipeline_.run(micro_batches, {.enter = observer.enter, .before_last_backward = [&] { accumulating.reset(); }});
  return sharded_.average(mean_loss);
}

double GridStep::clip_grad_norm(double max_norm) {
  std::vector<autograd::Variable> owned;
  for (const nn::NamedParameter& named : shards().named_parameters())
    if (named.is_owned) owned.push_back(named.parameter);
  double squares = optim::squared_norm(owned);
  world_.all_reduce(comm::host_buffer(std::span(&squares, 1)), comm::ReduceOp::kSum, {.tag = "norm"}).synchronize();
  const double norm = std::sqrt(squares);
  optim::clip_to(shards().parameters(), norm, max_norm);
  return norm;
}

void GridStep::require_equal_replicas(std::string_view when) const {
  ddp::require_equal_parameters(part_, *groups_.data, when);
}

void require_same_samples(const data::Batch& batch, Group& world, const RankGrid& grid) {
  std::vector<std::int64_t> hashes(static_cast<std::size_t>(world.world_size()));
  hashes[static_cast<std::size_t>(world.rank())] = tensor_parallel::hash_of(batch);
  world.all_reduce(comm::host_buffer(std::span(hashes)), comm::ReduceOp::kSum, {.tag = "batch"}).synchronize();
  const auto has_usual = [&](int rank) {  // cheap, for every step; who is wrong is found below
    const int first = grid.rank_at({.data = grid.place_of(rank).data});
    return hashes[static_cast<std::size_t>(rank)] == hashes[static_cast<std::size_t>(first)];
  };
  if (std::ranges::all_of(std::views::iota(0, world.world_size()), has_usual)) return;
  std::string others;
  int culprit = -1, count = 0;
  for (int rank = 0; rank < world.world_size(); ++rank) {
    if (hashes[static_cast<std::size_t>(rank)] == usual_hash(grid, rank, hashes)) continue;
    others += concat(count > 0 ? ", " : "", with_groups(grid, rank));
    culprit = ++count == 1 ? rank : -1;
  }
  const std::string message =
      concat(others, count == 1 ? " has" : " have", " other samples than the other ranks of the same model: make the ",
             "sampler from the place on the data axis, not from the rank");
  world.prepare_common_error(message, culprit);
  throw MismatchError(message);
}

}  // namespace lockstep::grid
