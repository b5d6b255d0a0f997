// Times whole training steps (loss, backward, clipping, AdamW) of a model in one process, on random tokens. Not part of
// the test suite.
//   OMP_NUM_THREADS=2 ./train_step_bench [tiny|small|tutorial|124m] [steps] [fp32|bf16] [checkpoint]
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "autograd/autocast.hpp"
#include "base/philox.hpp"
#include "device/storage.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"

using namespace lockstep;

namespace {

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Tensor random_tokens(const nn::GptConfig& config, std::uint64_t key) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(config.batch_size * config.context_length));
  PhiloxSequence random(key);
  const auto bound = static_cast<std::uint64_t>(std::min<std::int64_t>(config.vocabulary_size, 256));
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.next_below(bound));
  return Tensor::from<std::int32_t>(ids, {config.batch_size, config.context_length});
}

void run(const std::string& name, int steps, bool is_bfloat16, bool is_checkpointed) {
  const autograd::Autocast autocast(is_bfloat16);
  nn::GptConfig config = nn::GptConfig::named(name);
  config.activation_checkpointing = is_checkpointed;
  nn::Gpt model(config, 1);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1), {.beta2 = 0.95});
  const Tensor inputs = random_tokens(config, 1), targets = random_tokens(config, 2);
  std::vector<double> wall, processor;
  double loss = 0;
  for (int step = 0; step < steps + 3; ++step) {  // three to warm up
    const double wall_begin = wall_seconds(), processor_begin = processor_seconds();
    optimizer.zero_grad();
    autograd::Variable mean = model.loss(inputs, targets);
    mean.backward();
    const std::vector<autograd::Variable> parameters = model.parameters();
    (void)optim::clip_grad_norm(parameters, 1.0);
    optimizer.step(1e-3);
    loss = mean.value().item();
    if (step < 3) continue;
    wall.push_back(wall_seconds() - wall_begin);
    processor.push_back(processor_seconds() - processor_begin);
  }
  std::ranges::sort(wall);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const AllocatorStatistics memory = allocator_statistics();
  const double median = wall[wall.size() / 2], tokens = static_cast<double>(inputs.count());
  std::cout << std::fixed << std::setprecision(2) << name << ": median " << median * 1e3 << " ms (least "
            << wall.front() * 1e3 << ", least processor time " << std::ranges::min(processor) * 1e3 << "), "
            << std::setprecision(0) << tokens / median << " tokens/s, peak resident " << usage.ru_maxrss / 1024
            << " MiB, allocator peak " << (memory.peak_bytes_in_use >> 20) << " MiB, " << memory.system_allocations
            << " system allocations, loss " << std::setprecision(4) << loss << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "tiny", argc > 2 ? std::max(1, std::atoi(argv[2])) : 20,
        argc > 3 && std::string(argv[3]) == "bf16", argc > 4);
  } catch (const std::exception& error) {
    std::cerr << "train_step_bench: " << error.what() << '\n';
    return 1;
  }
}
