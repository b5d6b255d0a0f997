#include "00_why_many_gpus/strategy/strategies.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::plan {
namespace {

constexpr int kBackward = 2;  // units of a backward pass per unit of its forward pass

// Places tasks one after another on each rank.
class Builder {
 public:
  explicit Builder(int world_size) : free_from_(static_cast<std::size_t>(world_size)) {
    schedule_.world_size = world_size;
  }

  // Begins once the rank is free, but not before `earliest`. @return  The task's end.
  int add(int rank, int micro_batch, Pass pass, int units, int earliest = 0) {
    int& free_from = free_from_[static_cast<std::size_t>(rank)];
    const int begin = std::max(earliest, free_from);
    free_from = begin + units;
    schedule_.tasks.push_back({rank, micro_batch, pass, begin, free_from});
    return free_from;
  }

  [[nodiscard]] Schedule finish() && { return std::move(schedule_); }

 private:
  std::vector<int> free_from_;
  Schedule schedule_;
};

// Each rank takes its micro-batches one after another through the whole model, P units of work each.
Schedule data_schedule(int world_size, int micro_batches) {
  if (micro_batches % world_size != 0) {
    throw UsageError(concat(micro_batches, " micro-batches cannot be dealt evenly to ", world_size,
                            " ranks; take a multiple of ", world_size));
  }
  Builder builder(world_size);
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    const int rank = micro_batch % world_size;
    builder.add(rank, micro_batch, Pass::kForward, world_size);
    builder.add(rank, micro_batch, Pass::kBackward, kBackward * world_size);
  }
  return std::move(builder).finish();
}

Schedule tensor_schedule(int world_size, int micro_batches) {
  Builder builder(world_size);
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    for (int rank = 0; rank < world_size; ++rank) {
      builder.add(rank, micro_batch, Pass::kForward, 1);
      builder.add(rank, micro_batch, Pass::kBackward, kBackward);
    }
  }
  return std::move(builder).finish();
}

// The layers are split among the ranks. Micro-batches move in groups of `group`: a rank begins a group once the rank
// before it has finished the whole group. A single group is plain model parallelism; groups of one are the pipeline.
Schedule layered_schedule(int world_size, int micro_batches, int group) {
  Builder builder(world_size);
  for (int first = 0; first < micro_batches; first += group) {
    int arrived = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      int done = arrived;
      for (int i = 0; i < group; ++i) done = builder.add(rank, first + i, Pass::kForward, 1, arrived);
      arrived = done;
    }
  }
  // The last rank has the loss: backward passes begin there, as soon as its forward passes are done.
  for (int first = 0; first < micro_batches; first += group) {
    int arrived = 0;
    for (int rank = world_size - 1; rank >= 0; --rank) {
      int done = arrived;
      for (int i = 0; i < group; ++i) done = builder.add(rank, first + i, Pass::kBackward, kBackward, arrived);
      arrived = done;
    }
  }
  return std::move(builder).finish();
}

void check_divides(int parts, int whole, const char* what) {
  if (whole % parts == 0) return;
  throw UsageError(concat(whole, " ", what, " cannot be cut into ", parts, " equal parts; take a divisor of ", whole,
                          " as the number of ranks"));
}

double ring_bytes(double bytes, int world_size) { return 2.0 * (world_size - 1) / world_size * bytes; }

}  // namespace

std::string_view name_of(Strategy strategy) noexcept {
  switch (strategy) {
    case Strategy::kData:
      return "data";
    case Strategy::kModel:
      return "model";
    case Strategy::kTensor:
      return "tensor";
    case Strategy::kPipeline:
      return "pipeline";
  }
  return "";
}

int Schedule::duration() const noexcept {
  int last = 0;
  for (const Task& task : tasks) last = std::max(last, task.end);
  return last;
}

double Schedule::idle_share() const noexcept {
  double busy = 0;
  for (const Task& task : tasks) busy += task.end - task.begin;
  const double all = static_cast<double>(duration()) * world_size;
  return all > 0 ? 1 - busy / all : 0;
}

Schedule schedule_of(Strategy strategy, int world_size, int micro_batches) {
  require(world_size >= 1 && micro_batches >= 1, "a schedule needs ranks and micro-batches, not ", world_size, " and ",
          micro_batches);
  switch (strategy) {
    case Strategy::kData:
      return data_schedule(world_size, micro_batches);
    case Strategy::kModel:
      return layered_schedule(world_size, micro_batches, micro_batches);
    case Strategy::kTensor:
      return tensor_schedule(world_size, micro_batches);
    case Strategy::kPipeline:
      return layered_schedule(world_size, micro_batches, 1);
  }
  return {};
}

std::vector<std::string> picture_of(const Schedule& schedule) {
  const std::string idle(static_cast<std::size_t>(schedule.duration()), '.');
  std::vector<std::string> lines(static_cast<std::size_t>(schedule.world_size), idle);
  for (const Task& task : schedule.tasks) {
    const char letter = static_cast<char>((task.pass == Pass::kForward ? 'a' : 'A') + task.micro_batch % 26);
    std::string& line = lines[static_cast<std::size_t>(task.rank)];
    std::fill(line.begin() + task.begin, line.begin() + task.end, letter);
  }
  return lines;
}

RankLoad load_of(Strategy strategy, const Model& model, const Training& training, int world_size, int micro_batches) {
  RankLoad load;
  if (strategy == Strategy::kData) {  // one micro-batch at a time, so activations of one
    load.memory = memory_use(model, training, Sharding::kNothing, world_size);
    load.sent_bytes = ring_bytes(load.memory.gradients, world_size);
    return load;
  }
  check_divides(world_size, strategy == Strategy::kTensor ? model.heads : model.layers,
                strategy == Strategy::kTensor ? "heads" : "layers");
  Model part = model;
  part.parameters /= world_size;
  load.memory = memory_use(part, training, Sharding::kNothing, 1);

  // The activations passed from layer to layer, for one micro-batch: [micro_batch, sequence, hidden].
  const double boundary =
      static_cast<double>(training.micro_batch) * model.sequence * model.hidden * bytes_per_value(training.precision);
  if (strategy == Strategy::kTensor) {
    load.memory.activations = model.layers * activation_bytes_per_layer(model, training, world_size);
    load.sent_bytes = 4.0 * model.layers * micro_batches * ring_bytes(boundary, world_size);
  } else {  // every micro-batch's activations wait for the backward passes, which begin after the last forward pass
    const double layers = static_cast<double>(model.layers) / world_size;
    load.memory.activations = micro_batches * layers * activation_bytes_per_layer(model, training);
    // Ranks in the middle send activations forward and gradients back; with two ranks, each sends only one of the two.
    load.sent_bytes = std::min(world_size - 1, 2) * micro_batches * boundary;
  }
  return load;
}

}  // namespace lockstep::plan
