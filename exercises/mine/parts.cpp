#include "mine/parts.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <vector>

#include "06_gpt_ddp/ddp/setup.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "base/error.hpp"
#include "mine/adamw.hpp"
#include "mine/gradients.hpp"
#include "mine/ring_group.hpp"
#include "mine/sampler.hpp"
#include "run/optimization.hpp"

namespace lockstep::mine {
namespace {

const Part kRing = {"ring", {"02.1", "02.2"}};
const Part kAdamW = {"AdamW", {"05.1"}};
const Part kSampler = {"sampler", {"06.1"}};
const Part kFlattened = {"averaging", {"06.3"}};
const Part kBuckets = {"averaging", {"06.4"}};
const Part kReducer = {"averaging", {"06.5"}};

// The furthest rung that the learner has: 06.5 inside of the wrapper, else 06.4 or 06.3 after backward.
const Part& averaging_part(const Fingerprints& files) {
  if (is_learners(kReducer, files)) return kReducer;
  return is_learners(kBuckets, files) ? kBuckets : kFlattened;
}

bool averages_after_backward(const Fingerprints& files) {
  const Part& part = averaging_part(files);
  return &part != &kReducer && is_learners(part, files);
}

double median_ms(comm::ProcessGroup& group, std::vector<float>& values) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int trial = 0; trial < 16; ++trial) {
    group.barrier().synchronize();
    const auto begin = Clock::now();
    group.all_reduce(comm::host_buffer(std::span(values)), comm::ReduceOp::kMean).synchronize();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  times.erase(times.begin());  // the first one finds memory and connections cold
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

}  // namespace

Fingerprints learners_files() {
  return read_fingerprints(std::array{kRing, kAdamW, kSampler, kFlattened, kBuckets, kReducer});
}

void announce(const Fingerprints& files, comm::ProcessGroup& group) {
  announce(std::array{kRing, averaging_part(files), kSampler, kAdamW}, files, group);
}

std::unique_ptr<comm::ProcessGroup> make_group(const Fingerprints& files, const comm::JobContext& job) {
  if (is_learners(kRing, files)) return std::make_unique<RingGroup>(job);
  return ring::make_ring_process_group(job, {.small_bytes = 0});
}

std::unique_ptr<data::Sampler> make_sampler(const Fingerprints& files, std::int64_t dataset_size,
                                            const comm::ProcessGroup& group, const run::RunOptions& options) {
  if (is_learners(kSampler, files) && !options.uneven)
    return make_learners_sampler(dataset_size, group.rank(), group.world_size(), options.seed);
  return std::make_unique<ddp::DistributedSampler>(dataset_size, group.rank(), group.world_size(),
                                                   ddp::sampler_options(options));
}

std::unique_ptr<optim::Optimizer> make_optimizer(const Fingerprints& files, const run::OptimizerOptions& options,
                                                 const nn::Module& model) {
  if (is_learners(kAdamW, files) && options.name == "adamw")
    return make_learners_adamw(nn::weight_decay_groups(model, options.weight_decay));
  return run::make_optimizer(options, model);
}

ddp::DdpOptions ddp_options(const Fingerprints& files, const run::RunOptions& options) {
  ddp::DdpOptions chosen = ddp::ddp_options(options.parallel);
  if (!averages_after_backward(files)) return chosen;
  if (options.uneven || options.device.name != "cpu" || options.parallel.compress_gradients != "no")
    throw UsageError("the gradients of 06.3 and 06.4 are averaged on --device cpu, without --uneven and compression");
  chosen.average_gradients = false;
  return chosen;
}

void average_gradients(const Fingerprints& files, const nn::Module& model, comm::ProcessGroup& group) {
  if (!averages_after_backward(files)) return;
  &averaging_part(files) == &kBuckets ? average_in_buckets(model, group) : average_flattened(model, group);
}

std::string compare_rings(comm::ProcessGroup& group, std::int64_t gradient_count) {
  auto* const ring = dynamic_cast<RingGroup*>(&group);
  if (ring == nullptr || group.world_size() == 1) return "";
  std::vector<float> values(static_cast<std::size_t>(gradient_count), 1.0F);
  const double theirs = median_ms(group, values);
  ring->use_learners(false);
  const double ours = median_ms(group, values);
  ring->use_learners(true);
  std::ostringstream line;
  line.precision(3);
  line << "an all-reduce of all gradients (" << 4 * gradient_count << " bytes) over TCP: yours " << theirs
       << " ms, ours " << ours << " ms: yours takes " << theirs / ours << " times as long (medians of 15)\n";
  return line.str();
}

}  // namespace lockstep::mine
