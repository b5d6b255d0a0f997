// time_budget: how long a training run takes on more and more GPUs, and its cost in GPU-hours. With --hours it starts
// from the known time on one GPU; without, from parameters and tokens.
#include <iostream>
#include <string>
#include <vector>

#include "00_why_many_gpus/budget.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::plan;

// "3.3 hours", "9.5 days", "1.5 years": in the unit that gives a small number.
std::string readable(double hours) {
  if (hours < 48) return with_digits(hours, 1) + " hours";
  if (hours < 2 * 365 * 24) return with_digits(hours / 24, 1) + " days";
  return with_digits(hours / (365 * 24), 1) + " years";
}

void print_table(double hours_alone, double efficiency, const std::vector<int>& gpus) {
  TextTable table;
  table.add({"GPUs", "speedup", "time", "GPU-hours"});
  for (const int count : gpus) {
    const double faster = speedup(count, efficiency);
    const double hours = hours_alone / faster;
    table.add({std::to_string(count), with_digits(faster, 1), readable(hours), with_digits(hours * count, 1)});
  }
  std::cout << table.text();
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Prints how long a training takes on one GPU and on many");
  Workload work;
  double hours = 0, peak_tflops = work.peak_flops / 1e12;
  bool computes_forward_twice = false;
  std::vector<int> gpus;
  app.add_option("--hours", hours, "The job's hours on one GPU, in place of parameters and tokens")
      .check(positive_number())
      .without_default();
  app.add_option("--parameters", work.parameters, "Weights, N").check(positive_number());
  app.add_option("--tokens", work.tokens, "Positions seen in training, D").check(positive_number());
  app.add_option("--tflops", peak_tflops, "Of one GPU by its data sheet; 312: A100, bf16").check(positive_number());
  app.add_option("--utilisation", work.utilisation, "Share of that speed which is reached")
      .check(real_number(0.001, 1));
  app.add_option("--efficiency", work.efficiency, "Speed of a GPU among others, as a share of its speed alone")
      .check(real_number(0.001, 1));
  app.add_option("--gpus", gpus, "How many; several numbers make several lines")
      .check(whole_number(1, 10'000'000))
      .without_default();
  app.add_flag("--recompute", computes_forward_twice, "The forward pass is computed twice (8 N D)");
  return run_main(app, argc, argv, [&] {
    if (app.is_given("--hours")) {
      for (const char* const other : {"--parameters", "--tokens", "--tflops", "--utilisation", "--recompute"})
        if (app.is_given(other)) throw UsageError(concat(other, " is for a time that is computed: leave --hours out"));
      if (gpus.empty()) gpus = {1, 4, 8};
      std::cout << "a job of " << hours << " hours on one GPU; each of several does " << work.efficiency
                << " of what it does alone\n";
      print_table(hours, work.efficiency, gpus);
      return 0;
    }
    if (gpus.empty()) gpus = {1, 8, 64, 512};
    work.peak_flops = peak_tflops * 1e12;
    work.flops_per_parameter_and_token = computes_forward_twice ? 8 : 6;
    std::cout << work.flops_per_parameter_and_token << " x " << work.parameters / 1e9 << " billion parameters x "
              << work.tokens / 1e9 << " billion tokens = " << training_flops(work) << " FLOP;\na GPU does "
              << work.utilisation << " x " << peak_tflops << " TFLOP per second\n";
    print_table(training_seconds(work, 1) / 3600, work.efficiency, gpus);
    return 0;
  });
}
