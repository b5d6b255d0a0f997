// Trains, validates, writes and evaluates with one model, and prints how many page faults (minor ones, of all threads)
// a steady piece of each costs, one line each. Run by page_faults_test, and by hand for the larger models:
//   OMP_NUM_THREADS=1 page_fault_counter tiny|small|tutorial fp32|bf16
#include <sys/resource.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "05_gpt_single_device/perplexity.hpp"
#include "05_gpt_single_device/text_generator.hpp"
#include "autograd/autocast.hpp"
#include "base/philox.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"

using namespace lockstep;

namespace {

std::vector<std::int32_t> random_tokens(std::int64_t count, std::uint64_t key) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  PhiloxSequence random(key);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.next_below(256));
  return ids;
}

Tensor batch(const nn::GptConfig& config, std::uint64_t key) {
  const std::vector<std::int32_t> ids = random_tokens(config.batch_size * config.context_length, key);
  return Tensor::from<std::int32_t>(ids, {config.batch_size, config.context_length});
}

long page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// The mean over a few pieces, after some to warm up: the heap finds its final shape in the first ones.
void report(const std::string& name, const std::function<void()>& piece) {
  constexpr int kWarmUp = 2, kCounted = 2;
  for (int i = 0; i < kWarmUp; ++i) piece();
  const long before = page_faults();
  for (int i = 0; i < kCounted; ++i) piece();
  std::cout << name << ' ' << (page_faults() - before) / kCounted << std::endl;
}

void run(const std::string& name, bool is_bfloat16) {
  const autograd::Autocast autocast(is_bfloat16);
  nn::GptConfig config = nn::GptConfig::named(name);
  config.batch_size /= 2;  // as on two ranks; a test must not take minutes
  nn::Gpt model(config, 1);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1), {.beta2 = 0.95});
  const Tensor inputs = batch(config, 1), targets = batch(config, 2);
  report("training", [&] {
    optimizer.zero_grad();
    model.loss(inputs, targets).backward();
    (void)optim::clip_grad_norm(model.parameters(), 1.0);
    optimizer.step(1e-3);
  });
  report("validation", [&] { (void)model.loss(inputs, targets).value().item(); });
  const std::vector<std::int32_t> text = random_tokens(2 * config.context_length, 3);
  report("evaluate", [&] { (void)gpt::text_loss(model, text); });
  report("generate", [&] { (void)gpt::generate_tokens(model, {1, 2, 3}, {.token_count = 16}); });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "tiny", argc > 2 && std::string(argv[2]) == "bf16");
  } catch (const std::exception& error) {
    std::cerr << "page_fault_counter: " << error.what() << '\n';
    return 1;
  }
}
