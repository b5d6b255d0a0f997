#include "00_why_many_gpus/strategy/choice.hpp"

#include <algorithm>
#include <tuple>

#include "base/error.hpp"

namespace lockstep::plan {
namespace {

constexpr double kCloseEnough = 1.03;       // of the fastest time
constexpr double kBackwardShare = 2.0 / 3;  // of computing
constexpr double kHalfBytes = 2;
constexpr int kMostSamplesAtOnce = 64;

std::string name_of(Sharding sharding) {
  return sharding == Sharding::kNothing ? "DDP" : concat("ZeRO ", static_cast<int>(sharding));
}

// A rank's part of the model.
Model part_of(const Model& model, const Division& division) {
  Model part = model;
  part.parameters /= division.tensor * division.pipeline;
  return part;
}

MemoryUse memory_of(const DivisionCost& cost, const Model& model, Training training) {
  const Division& division = cost.division;
  training.micro_batch = division.micro_batch;
  MemoryUse memory = memory_use(part_of(model, division), training, division.sharding, division.data);
  const double layers = static_cast<double>(model.layers) / division.pipeline;
  memory.activations = std::min(cost.micro_batches, division.pipeline) * layers *
                       activation_bytes_per_layer(model, training, division.tensor);
  return memory;
}

double ring_seconds(double bytes, int ranks, double bandwidth) { return 2.0 * (ranks - 1) / ranks * bytes / bandwidth; }

// The data ranks' exchange, less the part that computing hides.
double data_seconds(const DivisionCost& cost, double parameters, const Cluster& cluster) {
  const Division& division = cost.division;
  const double m = cost.micro_batches, bytes = kHalfBytes * parameters;
  double sent = 2 * bytes, hidden = kBackwardShare * cost.time.computing / m;
  if (division.sharding == Sharding::kGradients) {
    sent = (m + 1) * bytes;
    hidden = kBackwardShare * cost.time.computing;
  } else if (division.sharding == Sharding::kWeights) {
    sent = 3 * m * bytes;
    hidden = cost.time.computing;
  }
  const bool is_within = division.tensor * division.data <= cluster.gpus_per_host;
  const double bandwidth = is_within ? cluster.within_host : cluster.between_hosts;
  return std::max(0.0, sent * (division.data - 1) / division.data / bandwidth - hidden);
}

StepTime time_of(DivisionCost cost, const Model& model, const Training& training, const Cluster& cluster, int samples) {
  const Division& division = cost.division;
  const double tokens = static_cast<double>(samples) * model.sequence;
  const double layers = static_cast<double>(model.layers) / division.pipeline;
  StepTime& time = cost.time;
  time.computing = training_flops({.parameters = model.parameters, .tokens = tokens}) /
                   (division.ranks() * cluster.peak_flops * cluster.utilisation);
  const double activations =
      static_cast<double>(division.micro_batch) * model.sequence * model.hidden * bytes_per_value(training.precision);
  time.tensor = 4 * layers * cost.micro_batches * ring_seconds(activations, division.tensor, cluster.within_host);
  time.pipeline = (time.computing + time.tensor) * (division.pipeline - 1) / cost.micro_batches;
  time.data = data_seconds(cost, part_of(model, division).parameters, cluster);
  return time;
}

bool is_possible(const Division& division, const Model& model, const Cluster& cluster, int samples) {
  return division.tensor <= cluster.gpus_per_host && cluster.gpus_per_host % division.tensor == 0 &&
         model.heads % division.tensor == 0 && model.layers % division.pipeline == 0 && samples % division.data == 0;
}

// The stages of ZeRO, and sizes of micro-batches, for the same ranks.
void add_variants(std::vector<Division>& divisions, Division division, int samples) {
  const bool is_data_alone = division.tensor * division.pipeline == 1;
  const Sharding most = division.data == 1 ? Sharding::kNothing
                        : is_data_alone    ? Sharding::kWeights
                                           : Sharding::kOptimizer;
  for (const Sharding sharding : {Sharding::kNothing, Sharding::kOptimizer, Sharding::kGradients, Sharding::kWeights}) {
    if (sharding > most) continue;
    division.sharding = sharding;
    for (division.micro_batch = 1; division.micro_batch <= kMostSamplesAtOnce; division.micro_batch *= 2)
      if (samples % (division.data * division.micro_batch) == 0) divisions.push_back(division);
  }
}

// How hard it is to do, and then how slow.
auto complexity_of(const DivisionCost& cost) {
  const Division& division = cost.division;
  const int ways = (division.data > 1 ? 1 : 0) + (division.tensor > 1 ? 1 : 0) + (division.pipeline > 1 ? 1 : 0);
  return std::tuple(ways, division.tensor * division.pipeline, division.sharding, cost.time.total());
}

}  // namespace

std::string Division::text() const {
  std::string parts;
  const auto add = [&](const std::string& part) { parts += (parts.empty() ? "" : " x ") + part; };
  if (tensor > 1) add(concat("tensor ", tensor));
  if (pipeline > 1) add(concat("pipeline ", pipeline));
  if (data > 1) add(concat(name_of(sharding), " on ", data));
  return parts.empty() ? "one GPU" : parts;
}

DivisionCost cost_of(const Division& division, const Model& model, const Training& training, const Cluster& cluster,
                     int samples) {
  const int at_once = division.data * division.micro_batch;
  require(at_once >= 1 && samples % at_once == 0, "cost_of: ", samples, " samples for ", division.data, " data ranks, ",
          division.micro_batch, " at once");
  DivisionCost cost{.division = division, .micro_batches = samples / at_once, .memory = {}, .time = {}};
  cost.memory = memory_of(cost, model, training);
  cost.time = time_of(cost, model, training, cluster, samples);
  return cost;
}

std::vector<Division> possible_divisions(const Model& model, const Cluster& cluster, int samples, int gpus) {
  std::vector<Division> divisions;
  for (int tensor = 1; tensor <= gpus; ++tensor) {
    for (int pipeline = 1; tensor * pipeline <= gpus; ++pipeline) {
      if (gpus % (tensor * pipeline) != 0) continue;
      const Division division{.data = gpus / (tensor * pipeline), .tensor = tensor, .pipeline = pipeline};
      if (is_possible(division, model, cluster, samples)) add_variants(divisions, division, samples);
    }
  }
  return divisions;
}

std::optional<DivisionCost> choose(const Model& model, const Training& training, const Cluster& cluster, int samples,
                                   int gpus) {
  std::vector<DivisionCost> fitting;
  for (const Division& division : possible_divisions(model, cluster, samples, gpus)) {
    DivisionCost cost = cost_of(division, model, training, cluster, samples);
    if (cost.memory.total() <= cluster.usable_bytes) fitting.push_back(cost);
  }
  if (fitting.empty()) return std::nullopt;
  const auto total = [](const DivisionCost& cost) { return cost.time.total(); };
  const double fastest = total(*std::ranges::min_element(fitting, {}, total));
  std::erase_if(fitting, [&](const DivisionCost& cost) { return total(cost) > kCloseEnough * fastest; });
  return *std::ranges::min_element(fitting, {}, complexity_of);
}

}  // namespace lockstep::plan
