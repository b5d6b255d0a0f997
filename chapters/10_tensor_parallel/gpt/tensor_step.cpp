#include "10_tensor_parallel/gpt/tensor_step.hpp"

#include <xxhash.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/number_list.hpp"
#include "comm/buffer.hpp"
#include "nn/layers.hpp"
#include "optim/clip.hpp"

namespace lockstep::tensor_parallel {

void sum_partial_gradients(nn::Module& model, Group& group) {
  std::vector<comm::Buffer> partial;
  for (const nn::NamedModule& named : model.named_modules()) {
    if (dynamic_cast<const nn::LayerNorm*>(&named.module) == nullptr) continue;
    for (const Variable& parameter : named.module.parameters()) {
      if (parameter.has_gradient()) partial.push_back(comm::buffer_of(parameter.gradient()));
    }
  }
  if (partial.empty()) return;  // all norms are frozen
  group.all_reduce_coalesced(partial, comm::ReduceOp::kSum, {.tag = "gradients of norms"}).synchronize();
}

double clip_grad_norm(const nn::Module& model, Group& group, double max_norm) {
  std::vector<Variable> owned;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    if (named.is_owned) owned.push_back(named.parameter);
  }
  double squares = optim::squared_norm(owned);
  group.all_reduce(comm::host_buffer(std::span(&squares, 1)), comm::ReduceOp::kSum, {.tag = "norm"}).synchronize();
  const double norm = std::sqrt(squares);
  optim::clip_to(model.parameters(), norm, max_norm);
  return norm;
}

std::int64_t hash_of(const data::Batch& batch) {
  std::uint64_t hash = 0;
  for (const Tensor& tensor : {batch.inputs, batch.targets, batch.sample_ids})
    hash = XXH3_64bits_withSeed(tensor.const_data(), static_cast<std::size_t>(tensor.bytes()), hash);
  return static_cast<std::int64_t>(hash);
}

void require_same_batch(const data::Batch& batch, Group& group) {
  std::vector<std::int64_t> hashes(static_cast<std::size_t>(group.world_size()));
  hashes[static_cast<std::size_t>(group.rank())] = hash_of(batch);
  group.all_reduce(comm::host_buffer(std::span(hashes)), comm::ReduceOp::kSum, {.tag = "batch"}).synchronize();
  std::vector<int> others;
  for (int rank = 1; rank < group.world_size(); ++rank) {
    if (hashes[static_cast<std::size_t>(rank)] != hashes[0]) others.push_back(rank);
  }
  if (others.empty()) return;
  const std::string message = concat(
      others.size() == 1 ? "rank " : "ranks ", list_numbers(others), others.size() == 1 ? " has" : " have",
      " other samples than rank 0, but they compute parts of one model: give every rank the same sampler, with the ",
      "same seed, and not a share of the batch");
  group.prepare_common_error(message, others.size() == 1 ? others.front() : -1);
  throw MismatchError(message);
}

}  // namespace lockstep::tensor_parallel
