#include "run/run_options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/byte_count.hpp"
#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/joining/job_environment.hpp"
#include "device/memory_limit.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {

double RunOptions::learning_rate_scale() const noexcept {
  if (learning_rate.reference_batch_size == 0 || learning_rate.scaling == "none") return 1;
  const double ratio = static_cast<double>(batch_size) / static_cast<double>(learning_rate.reference_batch_size);
  return learning_rate.scaling == "sqrt" ? std::sqrt(ratio) : ratio;
}

optim::Schedule RunOptions::schedule(std::int64_t total_steps) const {
  const double scale = learning_rate_scale(), highest = learning_rate.highest * scale;
  const std::int64_t warmup = std::min(learning_rate.warmup_steps, total_steps);
  const optim::DecayOptions decay{.learning_rate = highest,
                                  .total_steps = total_steps - warmup,
                                  .minimum = std::min(learning_rate.lowest, learning_rate.highest) * scale};
  if (learning_rate.schedule == "constant") return optim::LinearWarmup(highest, warmup);
  if (learning_rate.schedule == "linear") return optim::with_warmup(highest, warmup, optim::LinearDecay(decay));
  return optim::with_warmup(highest, warmup, optim::CosineDecay(decay));
}

double RunOptions::max_gradient_norm() const noexcept {
  return optimizer.clip > 0 ? optimizer.clip : std::numeric_limits<double>::infinity();
}

std::int64_t RunOptions::total_steps(std::int64_t samples) const {
  require(batch_size > 0, "the options of a run name no batch size");
  const std::int64_t steps_per_epoch = samples / batch_size + (uneven && samples % batch_size > 0 ? 1 : 0);
  if (steps_per_epoch == 0) {
    throw FormatError(concat("the training data have ", samples, " samples, fewer than one batch of ", batch_size,
                             ": use more data or a smaller --batch-size"));
  }
  if (epochs == 0) return steps;
  std::int64_t all = 0;
  if (!__builtin_mul_overflow(epochs, steps_per_epoch, &all)) return all;
  throw FormatError(concat("--epochs ", epochs, " with ", steps_per_epoch, " steps each are too many to count"));
}

void RunOptions::require_divisible_batch(std::int64_t world_size) const {
  if (data_ranks > 0) world_size = data_ranks;
  std::int64_t parts = 0;
  if (__builtin_mul_overflow(world_size, accumulation_steps, &parts)) parts = INT64_MAX;  // more than any batch has
  if (batch_size % parts == 0 || (!has_equal_shares && batch_size >= parts)) return;
  const std::string micro_batches = concat(accumulation_steps, " --accumulation-steps");
  const std::string all_ranks = concat("among ", world_size, data_ranks > 0 ? " replicas" : " ranks");
  const std::string among = accumulation_steps == 1 ? all_ranks
                            : world_size == 1       ? concat("into ", micro_batches)
                                                    : concat(all_ranks, " with ", micro_batches);
  const std::string other = accumulation_steps == 1 ? "another number of ranks"
                            : world_size == 1       ? "other --accumulation-steps"
                                                    : "another number of ranks, or other --accumulation-steps";
  throw UsageError(concat("--batch-size ", batch_size, " cannot be divided ", has_equal_shares ? "evenly " : "", among,
                          resume             ? ": a resumed run keeps its batch, so use " + other
                          : has_equal_shares ? concat(": use a multiple of ", parts)
                                             : concat(": use at least ", parts)));
}

Device RunOptions::device_of(int local_rank) const {
  return Device::for_rank(device.name, {.local_rank = local_rank, .share_gpu = device.share_gpu});
}

void limit_memory(const RunOptions& options) {
  if (options.device.memory_limit.empty()) return;
  const std::optional<std::uint64_t> limit = parse_byte_count(options.device.memory_limit);
  require(limit.has_value(), "the memory limit '", options.device.memory_limit, "' is not a number of bytes");
  const comm::EnvironmentPlace place = comm::read_place(environment::get);
  set_memory_limit(options.device_of(place.local_rank.value_or(0)), static_cast<std::size_t>(*limit),
                   place.rank ? concat("rank ", *place.rank) : "");
}

void complete(RunOptions& options, const CommandLine& line) {
  require(options.batch_size > 0, "a training program must set a default for --batch-size");
  if (line.is_given("--learning-rate-scaling") && options.learning_rate.reference_batch_size == 0)
    throw UsageError("--learning-rate-scaling needs the batch size to scale from: give --reference-batch-size too");
  const Device device = Device::parse(options.device.name);
  device.require_available();
  if (device.is_cpu() && options.device.matmul_algorithms != "first")
    throw UsageError(concat("--matmul-algorithms ", options.device.matmul_algorithms,
                            " is about products on a GPU, and --device is cpu: give --matmul-algorithms first"));
  for (std::filesystem::path& run : options.output.compare) {
    const bool is_run = std::filesystem::exists(run / "metrics.jsonl");
    const std::optional<std::filesystem::path> found = is_run ? run : latest_run(run, options.task);
    if (!found || task_of(*found) != options.task)
      throw UsageError(concat("--compare: ", run.string(), " trained something other than this program does"));
    run = *found;
  }
}

}  // namespace lockstep::run
