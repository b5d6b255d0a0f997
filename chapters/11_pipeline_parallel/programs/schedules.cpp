// schedules: draws schedules of a pipeline, rank by time, and counts how long ranks are idle and how many micro-batches
// they hold. Lower-case letters are forward passes of micro-batches, capitals are their backward passes.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "11_pipeline_parallel/schedules/timeline.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::pipeline;

const std::vector<std::string> kNames{"naive", "gpipe", "1f1b", "interleaved"};

struct Options {
  int ranks = 4, micro_batches = 8, stages_per_rank = 2, forward = 1, backward = 2, message = 0;
  std::vector<std::string> schedules{"naive", "gpipe", "1f1b"};
  bool use_colour = wants_colours(STDOUT_FILENO);
};

// The expected counts of a schedule, by formulas.
struct Prediction {
  std::string formula;
  double idle_per_busy;
  std::vector<int> most_held;  // by rank
};

int stages_per_rank(const std::string& name, const Options& options) {
  return name == "interleaved" ? options.stages_per_rank : 1;
}

Schedule schedule_of(const std::string& name, const Options& options) {
  if (name != "interleaved") return make_schedule(parse_schedule_kind(name), options.ranks, options.micro_batches);
  if (options.micro_batches % options.ranks != 0)
    throw UsageError(concat("interleaved takes a multiple of ", options.ranks, " micro-batches, and not ", options.micro_batches));
  return interleaved(options.ranks, options.stages_per_rank, options.micro_batches);
}

int held_by_formula(const std::string& name, int rank, const Options& options) {
  const int p = options.ranks, m = options.micro_batches, v = stages_per_rank(name, options);
  if (name == "naive") return 1;
  if (name == "gpipe") return m;
  return name == "1f1b" ? std::min(m, p - rank) : std::min(v * m, 2 * (p - 1 - rank) + (v - 1) * p + 1);
}

Prediction prediction_of(const std::string& name, const Options& options) {
  const double p = options.ranks, m = options.micro_batches, v = options.stages_per_rank;
  Prediction prediction{"(p-1)/m", (p - 1) / m, {}};
  if (name == "naive") prediction = {"p-1", p - 1, {}};
  if (name == "interleaved") prediction = {"(p-1)/(v m)", (p - 1) / (v * m), {}};
  for (int rank = 0; rank < options.ranks; ++rank) prediction.most_held.push_back(held_by_formula(name, rank, options));
  return prediction;
}

// One line for each stage, one character for each unit of time.
std::vector<std::string> picture_of(const Timeline& timeline, int stages) {
  const std::string idle(static_cast<std::size_t>(std::lround(timeline.duration())), '.');
  std::vector<std::string> lines(static_cast<std::size_t>(stages), idle);
  for (const auto& actions : timeline.ranks) {
    for (const auto& [action, begin, end] : actions) {
      const char letter = static_cast<char>((action.pass == Pass::kForward ? 'a' : 'A') + action.micro_batch % 26);
      std::string& line = lines[static_cast<std::size_t>(action.stage)];
      std::fill(line.begin() + std::lround(begin), line.begin() + std::lround(end), letter);
    }
  }
  return lines;
}

// Blue for forward, orange for backward passes (distinct for all kinds of colour vision), dim for idle time.
std::string coloured(const std::string& line) {
  std::string text;
  for (const char character : line) {
    const char* colour = character == '.' ? "\033[0;2m" : character >= 'a' ? "\033[0;30;48;5;111m"
                                                                           : "\033[0;30;48;5;215m";
    text += colour + std::string(1, character);
  }
  return text + "\033[0m";
}

std::string title_of(int stage, const Options& options, int stages) {
  const std::string title = concat("  rank ", rank_of(stage, options.ranks), stages > options.ranks ? concat(" stage ", stage) : "");
  return title + std::string(stages > options.ranks ? 19 - title.size() : 10 - title.size(), ' ');
}

// A long picture goes on below. The lines of one rank's stages follow one another.
void print_picture(const Timeline& timeline, int stages, const Options& options) {
  constexpr std::size_t kColumns = 60;
  const std::vector<std::string> lines = picture_of(timeline, stages);
  for (std::size_t begin = 0; begin < lines.front().size(); begin += kColumns) {
    if (begin > 0) std::cout << "  from unit " << begin << " on:\n";
    for (int rank = 0; rank < options.ranks; ++rank) {
      for (int stage = rank; stage < stages; stage += options.ranks) {
        const std::string shown = lines[static_cast<std::size_t>(stage)].substr(begin, kColumns);
        std::cout << title_of(stage, options, stages) << (options.use_colour ? coloured(shown) : shown) << '\n';
      }
    }
  }
}

void print_counts(const Timeline& timeline, const Prediction& prediction, const Options& options) {
  TextTable table;
  table.add({"", "busy", "idle", "idle/busy", "held", "held by formula"});
  for (int rank = 0; rank < options.ranks; ++rank) {
    const double busy = timeline.busy(rank);
    const auto at = static_cast<std::size_t>(rank);
    table.add({concat("  rank ", rank), with_digits(busy, 0), with_digits(timeline.duration() - busy, 0),
               with_digits(timeline.idle_per_busy(rank), 3), concat(timeline.most_held[at]), concat(prediction.most_held[at])});
  }
  const double bubble = timeline.idle_per_busy();
  std::cout << table.text() << "  idle/busy " << with_digits(bubble, 3) << "; " << prediction.formula << " is "
            << with_digits(prediction.idle_per_busy, 3) << (options.message > 0 ? " without messages" : "")
            << "; idle " << with_digits(100 * bubble / (1 + bubble), 0) << " % of the time\n";
}

void print_schedule(const std::string& name, const Options& options) {
  const Schedule schedule = schedule_of(name, options);
  Costs costs{.forward = 1.0 * options.forward, .backward = 1.0 * options.backward, .message = 1.0 * options.message};
  const Timeline timeline = simulate(schedule, costs);
  std::cout << '\n'
            << name << ": " << with_digits(timeline.duration(), 0) << " units\n";
  print_picture(timeline, stages_of(schedule), options);
  print_counts(timeline, prediction_of(name, options), options);
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Draws schedules of a pipeline, and counts idle time and the micro-batches that ranks hold");
  Options options;
  app.add_option("--ranks", options.ranks, "p: ranks").check(whole_number(1, 64));
  app.add_option("--micro-batches", options.micro_batches, "m: parts of the batch").check(whole_number(1, 1024));
  app.add_option("--schedule", options.schedules, "naive, gpipe, 1f1b, interleaved; several with commas").check(one_of(kNames));
  app.add_option("--stages-per-rank", options.stages_per_rank, "v: stages of a rank, if interleaved").check(whole_number(1, 16));
  app.add_option("--forward", options.forward, "Units of a forward pass through a stage").check(whole_number(1, 100));
  app.add_option("--backward", options.backward, "Units of a backward pass").check(whole_number(1, 100));
  app.add_option("--message", options.message, "Units until another rank has a result").check(whole_number(0, 100));
  app.add_flag("--color,!--no-color", options.use_colour, "Colours; default: on a terminal, unless NO_COLOR is set");
  return run_main(app, argc, argv, [&] {
    std::cout << "p = " << options.ranks << " ranks, m = " << options.micro_batches
              << " micro-batches: a, b, ... forward, A, B, ... backward, . idle\n";
    for (const std::string& name : options.schedules) print_schedule(name, options);
    return 0;
  });
}
