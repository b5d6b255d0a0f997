#pragma once
/// @file
/// The batches for this chapter's comparisons: the same for every way of training.
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "data/dataset.hpp"

namespace lockstep::ddp {

/// Rank `rank`'s part of a step's global batch, in the order of the dataset, wrapping around at its end.
/// @param batch_size  Samples of all ranks together, a multiple of `world_size`.
[[nodiscard]] inline data::Batch share_of(const data::Dataset& dataset, std::int64_t batch_size, int world_size,
                                          int step, int rank) {
  const std::int64_t share = batch_size / world_size;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(share));
  std::iota(indices.begin(), indices.end(), step * batch_size + rank * share);
  for (std::int64_t& index : indices) index %= dataset.size();
  return dataset.batch(indices);
}

/// @param parts  The word for ranks: "replicas". @throws UsageError  The batch cannot be divided among them.
inline void require_equal_shares(std::int64_t batch_size, int world_size, const char* parts) {
  if (batch_size >= 1 && batch_size % world_size == 0) return;
  throw UsageError(concat("--batch-size ", batch_size, " cannot be divided evenly among ", world_size, " ", parts));
}

}  // namespace lockstep::ddp
