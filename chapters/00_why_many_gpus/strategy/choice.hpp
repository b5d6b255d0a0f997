#pragma once
/// @file
/// Which strategy when: the ways to divide training among a number of GPUs, their memory and their time of a step. An
/// estimate to choose by: it counts what is large, and leaves out what is not.
#include <optional>
#include <string>
#include <vector>

#include "00_why_many_gpus/budget.hpp"
#include "00_why_many_gpus/cost_model.hpp"

namespace lockstep::plan {

/// GPUs, and what connects them. The defaults are those of hosts with 8 A100.
struct Cluster {
  double usable_bytes = 72e9;  ///< Of a GPU's memory: 90 % of 80 GB.
  int gpus_per_host = 8;
  double peak_flops = 312e12;   ///< Of one GPU, by its data sheet.
  double utilisation = 0.4;     ///< The share that it reaches while it computes.
  double within_host = 300e9;   ///< Bytes per second from a GPU to another of its host: NVLink 3, one way.
  double between_hosts = 25e9;  ///< To one of another host: InfiniBand HDR.
};

/// How the ranks of a job divide the work: data x tensor x pipeline of them.
struct Division {
  Sharding sharding = Sharding::kNothing;  ///< Among the data ranks.
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
  int micro_batch = 1;  ///< Samples that pass through the model at once.

  [[nodiscard]] int ranks() const noexcept { return data * tensor * pipeline; }
  /// "one GPU", "DDP on 8", "tensor 8 x pipeline 2 x ZeRO 1 on 4"
  [[nodiscard]] std::string text() const;
};

/// Seconds of a step, on the rank that has the most to do.
struct StepTime {
  double computing = 0;
  double tensor = 0;    ///< Sums of activations, during which nothing else can be done.
  double pipeline = 0;  ///< The bubble.
  double data = 0;      ///< The part of the exchange of gradients and weights that computing does not hide.

  [[nodiscard]] double total() const noexcept { return computing + tensor + pipeline + data; }
};

/// A division with its costs.
struct DivisionCost {
  Division division;
  int micro_batches = 1;  ///< Of a rank, in a step.
  MemoryUse memory;       ///< Of a rank.
  StepTime time;
};

/// Memory and time of a step with a batch of `samples`.
///
/// Memory: memory_use() of the parameters and layers that a rank has. A pipeline rank holds the activations of up to
/// `pipeline` micro-batches (1F1B).
///
/// Time, with P parameters of a rank, 2 bytes each, and m micro-batches:
///
/// - computing: 6 FLOP for each parameter and token, shared by all ranks.
/// - tensor: 4 all-reduces of the activations for each layer and micro-batch. Nothing hides them.
/// - pipeline: (pipeline - 1) / m of the time so far.
/// - data: with DDP and ZeRO 1, 4 P bytes, hidden by the last backward pass; with ZeRO 2, 2 (m + 1) P bytes, hidden by
///   all backward passes; with ZeRO 3, 6 m P bytes, hidden by all that is computed.
///
/// Collectives are rings. A link's latency, and what stages send each other, are left out.
/// @throws ContractError  The data ranks cannot divide the samples into micro-batches.
[[nodiscard]] DivisionCost cost_of(const Division& division, const Model& model, const Training& training,
                                   const Cluster& cluster, int samples);

/// All divisions among `gpus` that are possible: tensor ranks on one host, which divide the heads; pipeline ranks that
/// divide the layers; data ranks that divide the samples. ZeRO 2 and 3 only with data ranks alone. Micro-batches of 1,
/// 2, 4, ... samples, up to 64.
[[nodiscard]] std::vector<Division> possible_divisions(const Model& model, const Cluster& cluster, int samples,
                                                       int gpus);

/// The simplest that fits into memory and is at most 3 % slower than the fastest one that fits. Simpler is to divide in
/// fewer ways, then to divide the model among fewer ranks, then a lower stage of ZeRO; of equally simple ones the
/// fastest is chosen. Nothing if none fits.
[[nodiscard]] std::optional<DivisionCost> choose(const Model& model, const Training& training, const Cluster& cluster,
                                                 int samples, int gpus);

}  // namespace lockstep::plan
