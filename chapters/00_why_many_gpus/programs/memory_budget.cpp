// memory_budget: the memory that training a model needs on a GPU, how more GPUs change it, and which GPUs it fits.
#include <iostream>
#include <string>
#include <vector>

#include "00_why_many_gpus/budget.hpp"
#include "base/command_line.hpp"
#include "base/terminal.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::plan;

constexpr double kGb = 1e9;
// The rest goes to the CUDA context, NCCL's buffers and the gaps that allocation leaves.
constexpr double kUsableShare = 0.9;

struct Way {
  const char* name;
  Sharding sharding;
};
constexpr Way kWays[] = {{"data parallel", Sharding::kNothing},
                         {"ZeRO 1: optimizer split", Sharding::kOptimizer},
                         {"ZeRO 2: and gradients", Sharding::kGradients},
                         {"ZeRO 3: and weights", Sharding::kWeights}};

std::string gb(double bytes) { return with_digits(bytes / kGb, 1); }

// One column per precision, one row per kind of memory.
void print_parts(const Model& model, Training training) {
  TextTable table;
  table.add({"GB on one GPU", "fp32", "mixed"});
  training.precision = Precision::kFloat32;
  const MemoryUse full = memory_use(model, training, Sharding::kNothing, 1);
  training.precision = Precision::kMixed;
  const MemoryUse mixed = memory_use(model, training, Sharding::kNothing, 1);
  const auto row = [&](const char* name, double MemoryUse::*part) {
    table.add({name, gb(full.*part), gb(mixed.*part)});
  };
  row("weights", &MemoryUse::weights);
  row("gradients", &MemoryUse::gradients);
  row("fp32 copy of the weights", &MemoryUse::master_weights);
  row("optimizer", &MemoryUse::optimizer);
  row("activations", &MemoryUse::activations);
  table.add({"together", gb(full.total()), gb(mixed.total())});
  std::cout << table.text();
}

void print_more_gpus(const Model& model, const Training& training, const std::string& precision) {
  const std::vector<int> world_sizes = {1, 2, 4, 8, 16, 64};
  TextTable table;
  std::vector<std::string> head = {"GB on each of P GPUs, " + precision + "; P ="};
  for (const int world_size : world_sizes) head.push_back(std::to_string(world_size));
  table.add(head);
  for (const Way& way : kWays) {
    std::vector<std::string> row = {way.name};
    for (const int world_size : world_sizes)
      row.push_back(gb(memory_use(model, training, way.sharding, world_size).total()));
    table.add(row);
  }
  std::cout << '\n' << table.text();
}

void print_fit(const Model& model, const Training& training) {
  const std::vector<int> cards_gb = {24, 40, 80, 141};
  TextTable table;
  std::vector<std::string> head = {"the fewest GPUs that hold it, of"};
  for (const int card_gb : cards_gb) head.push_back(std::to_string(card_gb) + " GB");
  table.add(head);
  for (const Way& way : kWays) {
    std::vector<std::string> row = {way.name};
    for (const int card_gb : cards_gb) {
      const auto fewest = smallest_world_size(model, training, way.sharding, card_gb * kGb * kUsableShare);
      row.push_back(fewest ? std::to_string(*fewest) : "never");
    }
    table.add(row);
  }
  std::cout << '\n' << table.text() << "(90 % of the label is usable; the CUDA context, NCCL and gaps take the rest)\n";
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Prints what training a model keeps in GPU memory; the defaults have the shape of a 7B model");
  Model model;
  Training training;
  std::string precision = "fp32", optimizer = "adam", recompute = "nothing";
  app.add_option("--parameters", model.parameters, "Weights").check(positive_number());
  app.add_option("--layers", model.layers, "Transformer layers").check(whole_number(1, 10'000));
  app.add_option("--hidden", model.hidden, "Channels").check(whole_number(1, 1'000'000));
  app.add_option("--heads", model.heads, "Attention heads").check(whole_number(1, 10'000));
  app.add_option("--sequence", model.sequence, "Positions per sample").check(whole_number(1, 100'000'000));
  app.add_option("--micro-batch", training.micro_batch, "Samples at once on each GPU")
      .check(whole_number(1, 1'000'000));
  app.add_option("--precision", precision, "Of the second and third table").check(one_of(precisions()));
  app.add_option("--optimizer", optimizer, "What is kept per weight").check(one_of(optimizers()));
  app.add_option("--recompute", recompute, "Activations computed again").check(one_of(recomputes()));
  return run_main(app, argc, argv, [&] {
    training.precision = precisions().at(precision);
    training.optimizer = optimizers().at(optimizer);
    training.recompute = recomputes().at(recompute);
    std::cout << model.parameters / 1e9 << " billion parameters, " << optimizer << "; " << model.layers << " layers of "
              << model.hidden << " channels and " << model.heads << " heads,\n"
              << training.micro_batch << " x " << model.sequence << " positions at once\n\n";
    print_parts(model, training);
    print_more_gpus(model, training, precision);
    print_fit(model, training);
    return 0;
  });
}
