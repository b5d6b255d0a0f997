#include <algorithm>
#include <iostream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "tool/command.hpp"
#include "tool/emulate_build.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

constexpr int kSegmentationFault = 128 + 11;  // 128 + signal, as shells report it

struct Options {
  std::string source;
  bool is_checked = false;
  bool has_metrics = false;
  std::uint64_t seed = 0;
  int devices = 0;  // 0: not given
};

ProgramVariables variables_of(const Options& options) {
  ProgramVariables variables;
  if (options.is_checked || options.has_metrics) variables["LOCKSTEP_EMULATOR_CHECK"] = "1";
  if (options.has_metrics) variables["LOCKSTEP_EMULATOR_METRICS"] = "1";
  if (options.seed != 0) variables["LOCKSTEP_EMULATOR_SEED"] = std::to_string(options.seed);
  if (options.devices != 0) variables["LOCKSTEP_EMULATOR_DEVICES"] = std::to_string(options.devices);
  return variables;
}

}  // namespace

int emulate(const Arguments& arguments) {
  const auto divider = std::find(arguments.begin(), arguments.end(), "--");
  Options options;
  CommandLine app(
      as_typed(
          "Runs a CUDA program on the CPU: an ordinary .cu file with kernels and a main(), no GPU and no nvcc needed.\n"
          "With --check it says which accesses are wrong, and where: races, missing barriers, memory out of bounds or\n"
          "never written. It tells whether a kernel is right and what it accesses; never how fast a GPU would run it.\n"
          "  ./lockstep emulate [OPTIONS] my_kernel.cu [-- arguments of its main()]"),
      "lockstep emulate");
  app.add_option("file", options.source, "A CUDA source").required();
  app.add_flag("--check", options.is_checked, "Examine every memory access, and report faults (exit status 86)");
  app.add_flag("--metrics", options.has_metrics,
               "Count memory sectors, bank conflicts, barriers and atomics per source line (checks, too)");
  app.add_option("--seed", options.seed, "Order in which threads run: 0 by number, 1 backwards, others shuffled")
      .check(whole_number(0));
  app.add_option("--devices", options.devices, "How many GPUs to emulate (1 if left out)")
      .check(whole_number(1, 8))
      .without_default();
  if (const auto done = app.parse(Arguments(arguments.begin(), divider))) return *done;

  const bool is_instrumented = options.is_checked || options.has_metrics;
  if (is_instrumented && !LOCKSTEP_HAS_CHECKER) {
    throw UnavailableError("--check and --metrics do not exist in builds with sanitizers; use the preset cpu");
  }
  const auto program =
      build_emulated(find_project(), options.source, is_instrumented ? EmulatedCode::kChecked : EmulatedCode::kPlain);
  std::vector<std::string> command = {program.string()};
  if (divider != arguments.end()) command.insert(command.end(), divider + 1, arguments.end());
  const int status = run_and_wait(command, variables_of(options));
  if (status == kSegmentationFault && !is_instrumented) {
    std::cerr << "lockstep emulate: the program touched memory that it must not touch; --check says where\n";
  }
  return status;
}

}  // namespace lockstep::tool
