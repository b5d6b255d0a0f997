// strategies: the four ways to split training among ranks, as pictures of which rank computes when, with what each rank
// holds and sends. Lower-case letters are forward passes of micro-batches, capitals are their backward passes. With
// --when or --gpus: which of them, or which combination, to take on how many GPUs.
#include "00_why_many_gpus/strategy/strategies.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "00_why_many_gpus/strategy/choice.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::plan;

struct Options {
  Model model;
  Training training;
  int world_size = 4;
  int micro_batches = 4;
  bool use_colour = wants_colours(STDOUT_FILENO);
  bool when = false;
  int gpus = 0;
  int samples = 1024;
};

const char* explanation_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::kData:
      return "each rank has the whole model and its part of the batch; at the end gradients are added up";
    case Strategy::kModel:
      return "each rank has some of the layers; the batch goes through rank after rank, and back";
    case Strategy::kTensor:
      return "each rank has a part of every layer; in each layer all meet twice in a forward pass and twice in a "
             "backward pass";
    case Strategy::kPipeline:
      return "as model, but the batch comes in micro-batches that follow one another";
  }
  return "";
}

// Blue for forward, orange for backward passes (distinct for all kinds of colour vision), dim for idle time.
std::string coloured(const std::string& line) {
  std::string text;
  const char* last = "";
  for (const char character : line) {
    const char* colour = character == '.'   ? "\033[0;2m"
                         : character >= 'a' ? "\033[0;30;48;5;111m"
                                            : "\033[0;30;48;5;215m";
    if (colour != last) text += colour;
    last = colour;
    text += character;
  }
  return text + "\033[0m";
}

// Long pictures are cut after `kColumns` units.
void print_picture(const Schedule& schedule, bool use_colour) {
  constexpr std::size_t kColumns = 66;  // 80 with the rank's name and " ..."
  int rank = 0;
  for (const std::string& line : picture_of(schedule)) {
    const std::string shown = line.substr(0, kColumns);
    std::cout << "  rank " << rank << (rank < 10 ? "  " : " ") << (use_colour ? coloured(shown) : shown)
              << (line.size() > kColumns ? " ..." : "") << '\n';
    ++rank;
  }
}

constexpr Strategy kAll[] = {Strategy::kData, Strategy::kModel, Strategy::kTensor, Strategy::kPipeline};

void print_schedule(Strategy strategy, const Options& options) {
  const Schedule schedule = schedule_of(strategy, options.world_size, options.micro_batches);
  std::cout << '\n' << wrap_words(concat(name_of(strategy), ": ", explanation_of(strategy), "\n"), 80, 2);
  print_picture(schedule, options.use_colour);
  std::cout << "  " << schedule.duration() << " units, " << with_digits(100 * schedule.idle_share(), 0) << " % idle\n";
}

void print_loads(const Options& options) {
  const auto gb = [](double bytes) { return with_digits(bytes / 1e9, 1); };
  TextTable table;
  table.add({"GB of a rank", "weights", "gradients", "optimizer", "activations", "together", "sent a step"});
  for (const Strategy strategy : kAll) {
    const RankLoad load = load_of(strategy, options.model, options.training, options.world_size, options.micro_batches);
    const MemoryUse& memory = load.memory;
    table.add({std::string(name_of(strategy)), gb(memory.weights), gb(memory.gradients),
               gb(memory.master_weights + memory.optimizer), gb(memory.activations), gb(memory.total()),
               with_digits(load.sent_bytes / 1e9, 2)});
  }
  std::cout << '\n' << table.text();
}

std::string gb_of(double bytes) { return with_digits(bytes / 1e9, 1); }

std::string percent_of(const DivisionCost& cost) {
  return with_digits(100 * cost.time.computing / cost.time.total(), 0) + " %";
}

// Adds a row whose cell `column` is the division. A long name takes a second line, so that tables fit 80 columns.
void add_with_name(TextTable& table, std::vector<std::string> row, std::size_t column, const std::string& name) {
  const std::size_t cut = name.size() > 24 ? name.rfind(" x ") : std::string::npos;
  row[column] = cut == std::string::npos ? name : name.substr(0, cut + 2);
  table.add(row);
  if (cut == std::string::npos) return;
  row.assign(column + 1, "");
  row[column] = "  " + name.substr(cut + 3);
  table.add(row);
}

struct NamedModel {
  const char* name;
  Model model;
};
const NamedModel kModels[] = {  // GPT-3 XL, models with 7 and 70 billion parameters, GPT-3
    {"1.3B", {.parameters = 1.3e9, .layers = 24, .hidden = 2048, .heads = 16, .sequence = 2048}},
    {"7B", {.parameters = 7e9, .layers = 32, .hidden = 4096, .heads = 32, .sequence = 2048}},
    {"70B", {.parameters = 70e9, .layers = 80, .hidden = 8192, .heads = 64, .sequence = 4096}},
    {"175B", {.parameters = 175e9, .layers = 96, .hidden = 12288, .heads = 96, .sequence = 2048}}};
constexpr int kNumbersOfGpus[] = {1, 8, 64, 1024};
const Training kMixedPrecision{.precision = Precision::kMixed, .recompute = Recompute::kAttention};

void print_cluster(const Cluster& cluster, int samples) {
  std::cout << "GPUs with " << cluster.usable_bytes / 1e9 << " GB to use and " << cluster.peak_flops / 1e12
            << " TFLOP/s, " << cluster.gpus_per_host << " to a host; " << cluster.within_host / 1e9
            << " GB/s within it,\n"
            << cluster.between_hosts / 1e9 << " GB/s between hosts. A step has " << samples
            << " samples; \"at once\" is how many\npass through the model together. Mixed precision, Adam.\n\n";
}

// For each model and number of GPUs the strategy to take.
void print_when(const Options& options) {
  const Cluster cluster;
  print_cluster(cluster, options.samples);
  TextTable table;
  table.add({"", "", "at", "GB of", "s of", ""});
  table.add({"model and GPUs", "strategy", "once", "a GPU", "a step", "computing"});
  for (const NamedModel& named : kModels) {
    for (const int gpus : kNumbersOfGpus) {
      const std::string name = concat(named.name, " on ", gpus);
      if (const auto best = choose(named.model, kMixedPrecision, cluster, options.samples, gpus)) {
        add_with_name(table,
                      {name, "", std::to_string(best->division.micro_batch), gb_of(best->memory.total()),
                       with_digits(best->time.total(), 2), percent_of(*best)},
                      1, best->division.text());
      } else {
        table.add({name, "does not fit"});
      }
    }
  }
  std::cout << table.text();
}

// The best of each kind: the fastest that fits, or the smallest if none fits.
std::vector<DivisionCost> best_of_kinds(const Options& options, const Cluster& cluster) {
  const auto rank = [&](const DivisionCost& cost) {
    const bool fits = cost.memory.total() <= cluster.usable_bytes;
    return std::pair(!fits, fits ? cost.time.total() : cost.memory.total());
  };
  std::map<std::tuple<bool, bool, bool, Sharding>, DivisionCost> best;
  for (const Division& division : possible_divisions(options.model, cluster, options.samples, options.gpus)) {
    const DivisionCost cost = cost_of(division, options.model, kMixedPrecision, cluster, options.samples);
    const auto [found, is_first] =
        best.try_emplace({division.pipeline > 1, division.tensor > 1, division.data > 1, division.sharding}, cost);
    if (!is_first && rank(cost) < rank(found->second)) found->second = cost;
  }
  std::vector<DivisionCost> costs;
  for (const auto& [kind, cost] : best) costs.push_back(cost);
  return costs;
}

void print_kinds(const Options& options) {
  const Cluster cluster;
  print_cluster(cluster, options.samples);
  const std::vector<DivisionCost> costs = best_of_kinds(options, cluster);
  if (costs.empty())
    throw UsageError(concat("no way to divide ", options.samples, " samples, ", options.model.heads, " heads or ",
                            options.model.layers, " layers among ", options.gpus, " GPUs"));
  TextTable table;
  table.add({"", "at", "GB of", "", "", "", "", "s of"});
  table.add({"the best of each kind", "once", "a GPU", "computing", "tensor", "bubble", "data", "a step"});
  for (const DivisionCost& cost : costs) {
    const StepTime& time = cost.time;
    std::vector<std::string> row = {"", std::to_string(cost.division.micro_batch), gb_of(cost.memory.total())};
    if (cost.memory.total() > cluster.usable_bytes)
      row.emplace_back("too large");
    else
      for (const double seconds : {time.computing, time.tensor, time.pipeline, time.data, time.total()})
        row.push_back(with_digits(seconds, 2));
    add_with_name(table, row, 0, cost.division.text());
  }
  std::cout << table.text();
  if (const auto chosen = choose(options.model, kMixedPrecision, cluster, options.samples, options.gpus))
    std::cout << "\nThe simplest within 3 % of the fastest: " << chosen->division.text() << '\n';
}

void print_four(const Options& options, const std::string& optimizer, const std::string& precision) {
  std::cout << options.model.parameters / 1e9 << " billion parameters in " << options.model.layers << " layers on "
            << options.world_size << " ranks, " << optimizer << ", " << precision << ";\na batch of "
            << options.micro_batches
            << " micro-batches a, b, ...\nTime runs to the right: a is a's forward pass, A its "
            << "backward pass, '.' idle.\nTime to send is not drawn.\n";
  for (const Strategy strategy : kAll) print_schedule(strategy, options);
  print_loads(options);
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Draws the four ways to split training among ranks; the default model has the shape of a 7B model");
  Options options;
  std::string precision = "fp32", optimizer = "adam";
  app.add_option("--world-size", options.world_size, "Ranks").check(whole_number(1, 64));
  app.add_option("--micro-batches", options.micro_batches, "Parts of the batch").check(whole_number(1, 1024));
  app.add_option("--parameters", options.model.parameters, "Weights").check(positive_number());
  app.add_option("--layers", options.model.layers, "Transformer layers").check(whole_number(1, 10'000));
  app.add_option("--hidden", options.model.hidden, "Channels").check(whole_number(1, 1'000'000));
  app.add_option("--heads", options.model.heads, "Attention heads").check(whole_number(1, 10'000));
  app.add_option("--sequence", options.model.sequence, "Positions per sample").check(whole_number(1, 100'000'000));
  app.add_option("--precision", precision, "Of weights and activations").check(one_of(precisions()));
  app.add_option("--optimizer", optimizer, "What is kept per weight").check(one_of(optimizers()));
  app.add_flag("--when", options.when, "Which strategy for models of four sizes on 1, 8, 64 and 1024 GPUs");
  app.add_option("--gpus", options.gpus, "Compares the ways to train this model on so many GPUs, in mixed precision")
      .check(whole_number(1, 16'384))
      .without_default();
  app.add_option("--samples", options.samples, "With --when and --gpus: samples of a step")
      .check(whole_number(1, 1'000'000));
  app.add_flag("--color,!--no-color", options.use_colour, "Colours; default: on a terminal, unless NO_COLOR is set");
  return run_main(app, argc, argv, [&] {
    options.training.precision = precisions().at(precision);
    options.training.optimizer = optimizers().at(optimizer);
    if (options.when && options.gpus > 0) throw UsageError("--when has its own numbers of GPUs: leave out --gpus");
    if (options.when) {
      print_when(options);
    } else if (options.gpus > 0) {
      print_kinds(options);
    } else {
      print_four(options, optimizer, precision);
    }
    return 0;
  });
}
