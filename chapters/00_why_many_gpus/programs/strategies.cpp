// strategies: the four ways to split training among ranks, as pictures of which rank computes when, with what each rank
// holds and sends. Lower-case letters are forward passes of micro-batches, capitals are their backward passes.
#include "00_why_many_gpus/strategies.hpp"

#include <unistd.h>

#include <iostream>
#include <string>

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
  constexpr std::size_t kColumns = 100;
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
  std::cout << '\n' << name_of(strategy) << ": " << explanation_of(strategy) << '\n';
  print_picture(schedule, options.use_colour);
  std::cout << "  " << schedule.duration() << " units, " << with_digits(100 * schedule.idle_share(), 0) << " % idle\n";
}

void print_loads(const Options& options) {
  const auto gb = [](double bytes) { return with_digits(bytes / 1e9, 1); };
  TextTable table;
  table.add({"GB of a rank", "weights", "gradients", "optimizer", "activations", "together", "sent in a step"});
  for (const Strategy strategy : kAll) {
    const RankLoad load = load_of(strategy, options.model, options.training, options.world_size, options.micro_batches);
    const MemoryUse& memory = load.memory;
    table.add({std::string(name_of(strategy)), gb(memory.weights), gb(memory.gradients),
               gb(memory.master_weights + memory.optimizer), gb(memory.activations), gb(memory.total()),
               with_digits(load.sent_bytes / 1e9, 2)});
  }
  std::cout << '\n' << table.text();
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
  app.add_flag("--color,!--no-color", options.use_colour, "Colours; default: on a terminal, unless NO_COLOR is set");
  return run_main(app, argc, argv, [&] {
    options.training.precision = precisions().at(precision);
    options.training.optimizer = optimizers().at(optimizer);
    std::cout << options.model.parameters / 1e9 << " billion parameters in " << options.model.layers << " layers on "
              << options.world_size << " ranks, " << optimizer << ", " << precision << "; a batch of "
              << options.micro_batches
              << " micro-batches a, b, ...\nTime runs to the right: a is a's forward pass, A its "
              << "backward pass, '.' idle. Time to send is not drawn.\n";
    for (const Strategy strategy : kAll) print_schedule(strategy, options);
    print_loads(options);
    return 0;
  });
}
