// ladder [KERNEL]: climbs the rungs of a kernel. Checks each against the CPU first; then times it on a GPU, or counts
// its memory accesses on the emulator.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "04_kernels/measure/backend.hpp"
#include "04_kernels/measure/problem.hpp"
#include "04_kernels/measure/roofline.hpp"
#include "04_kernels/measure/timer.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/terminal.hpp"
#include "device/cuda_check.hpp"
#include "device/device.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::ladders;

constexpr std::size_t kColumns = 80;

struct Options {
  std::string kernel;
  std::vector<int> sizes;
  int repetitions = 21;
};

struct ListedRung {
  int index = 0;
  RungText text;
};

std::string size_text(std::span<const int> sizes) {
  std::string text;
  for (const int size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

// "" for any sizes.
std::string_view words_of(Requirement requirement) {
  switch (requirement) {
    case Requirement::kNone:
      return "";
    case Requirement::kMultiplesOf4:
      return "; rows of 4, 8, 12 ...";
    case Requirement::kMultiplesOf8:
      return "; rows of 8, 16, 24 ...";
    case Requirement::kHopper:
      return "; rows of 8, 16, 24 ...; a Hopper GPU";
    case Requirement::kShortRows:
      return "; rows of 4, 8, 12 ... 1024";
  }
  return "";
}

void list_ladders() {
  for (const LadderEntry& entry : all_ladders()) {
    std::cout << entry.name << ": " << entry.what << " (" << entry.sizes << ")\n";
    for (const RungText& rung : entry.rungs(plain_registry())) {
      const std::string name = rung.name + std::string(24 - std::min<std::size_t>(23, rung.name.size()), ' ');
      std::cout << wrap_words(concat("  ", name, rung.removes, words_of(rung.requirement), "\n"), kColumns, 26);
    }
  }
  std::cout << "After each rung comes the cost that it removes.\n./lockstep run 04 ladder NAME climbs one ladder.\n";
}

// Runs every rung once on sizes that no tile divides, and returns the rungs that match the CPU.
std::vector<ListedRung> right_rungs(const LadderEntry& entry) {
  const auto problem = entry.make(entry.checked, plain_registry());
  const std::vector<RungText> rungs = entry.rungs(plain_registry());
  std::vector<ListedRung> right;
  for (int index = 0; const RungText& rung : rungs) {
    const int current = index++;
    if (!problem->is_allowed(current) && rung.requirement == Requirement::kHopper) {
      std::cout << rung.name << " is left out: it needs a Hopper GPU\n";
      continue;
    }
    require(problem->is_allowed(current), "the sizes for checking do not suit ", rung.name);
    const Verdict verdict = problem->check(current);
    if (verdict.is_right())
      right.push_back({current, rung});
    else
      std::cout << rung.name << " is WRONG and left out: " << verdict.detail << "\n";
  }
  std::cout << wrap_words(concat(entry.name, ": ", right.size(), " of ", rungs.size(),
                                 " rungs match the CPU's float64 result (", entry.sizes, ": ",
                                 size_text(entry.checked), ")\n"),
                          kColumns, 2);
  return right;
}

std::string ratio(double value, double by, int digits) { return by == 0 ? "-" : with_digits(value / by, digits); }

void print_counts(const LadderEntry& entry, std::span<const int> sizes, const std::vector<ListedRung>& rungs) {
  const auto problem = entry.make(sizes, counted_registry());
  const double elements = problem->cost().elements, thousands = elements / 1000;
  std::cout << "emulated: counts, not times (" << entry.sizes << ": " << size_text(sizes) << ");\nat least "
            << with_digits(problem->cost().bytes / elements, 1) << " bytes per element\n";
  TextTable table;
  table.add({"", "device", "sectors", "bytes", "shared", "passes", "barrier", "atomic"});
  table.add({"rung", "/1000", "/req.", "/elem.", "/1000", "/req.", "/1000", "/1000"});
  for (const ListedRung& rung : rungs) {
    if (!problem->is_allowed(rung.index)) {
      std::cout << rung.text.name << " is left out: it cannot handle these sizes\n";
      continue;
    }
    problem->reset();
    const Counts counts = count_accesses([&] { problem->enqueue(rung.index, nullptr); });
    const double bytes = 32 * counts.sectors;
    table.add({rung.text.name, with_digits(counts.requests / thousands, 1), ratio(counts.sectors, counts.requests, 2),
               with_digits(bytes / elements, 1), with_digits(counts.shared_requests / thousands, 1),
               ratio(counts.bank_passes, counts.shared_requests, 2), with_digits(counts.barriers / thousands, 2),
               with_digits(counts.atomics / thousands, 2)});
  }
  std::cout << table.text();
}

std::string percent(double part, double whole) { return whole == 0 ? "-" : with_digits(100 * part / whole, 1) + " %"; }

std::string device_name() {
  int device = 0;
  cudaDeviceProp properties = {};
  cuda_check(cudaGetDevice(&device), "asking for the current device");
  cuda_check(cudaGetDeviceProperties(&properties, device), "asking for the device's name");
  return properties.name;
}

std::vector<std::string> timed_row(const std::string& name, double seconds, const Cost& cost, double bound_seconds,
                                   double library_seconds) {
  return {name,
          with_digits(seconds * 1e3, 4),
          with_digits(cost.bytes / seconds / 1e9, 0),
          with_digits(cost.operations / seconds / 1e12, 2),
          percent(bound_seconds, seconds),
          library_seconds == 0 ? "-" : percent(library_seconds, seconds)};
}

void print_times(const LadderEntry& entry, std::span<const int> sizes, const std::vector<ListedRung>& rungs,
                 const Options& options) {
  const auto problem = entry.make(sizes, plain_registry());
  const Timing timing = {.repetitions = options.repetitions};
  const std::string device = device_name();
  const std::optional<Roofline> roofline = roofline_of(device);
  const double bound = roofline ? roofline->seconds(problem->cost()) : 0;
  const std::optional<LibraryCall> library = library_call(entry.name, sizes);
  const double library_seconds = library ? median_seconds(library->enqueue, timing) : 0;
  std::cout << device << (roofline ? "" : " (no bound: it is not in roofline.hpp)") << ", " << entry.sizes << ": "
            << size_text(sizes) << ", medians of " << options.repetitions << "\n";
  TextTable table;
  table.add({"rung", "ms", "GB/s", "TFLOP/s", "of the bound", "of the library"});
  for (const ListedRung& rung : rungs) {
    if (!problem->is_allowed(rung.index)) continue;
    problem->reset();
    const double seconds = median_seconds([&](cudaStream_t stream) { problem->enqueue(rung.index, stream); }, timing);
    table.add(timed_row(rung.text.name, seconds, problem->cost(), bound, library_seconds));
  }
  if (library) table.add(timed_row(library->name, library_seconds, problem->cost(), bound, library_seconds));
  std::cout << table.text();
}

// The kernels count elements with int, and step past the last one.
void require_countable(std::string_view ladder, std::span<const int> sizes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::vector<int> largest(sizes.begin(), sizes.end());
  std::ranges::sort(largest, std::greater());
  std::int64_t elements = largest.size() == 1 ? largest[0] : std::int64_t{largest[0]} * largest[1];
  // Each position of a head has 64 numbers, and a score for each position of the head.
  if (ladder == "flash_attention" && elements <= kMost) elements *= std::max(sizes[1], kHeadWidth);
  if (elements > kMost) {
    throw UsageError(concat("--sizes ", size_text(sizes), " makes an array of ", elements,
                            " elements; the ladders' kernels take at most ", kMost));
  }
}

int climb(const Options& options) {
  const LadderEntry& entry = find_ladder(options.kernel);
  const std::span<const int> usual = is_emulated() ? entry.counted : entry.timed;
  const std::span<const int> sizes = options.sizes.empty() ? usual : std::span<const int>(options.sizes);
  if (sizes.size() != usual.size())
    throw UsageError(concat("--sizes takes ", entry.sizes, ", such as ", size_text(usual)));
  require_countable(entry.name, sizes);
  if (!Device{accelerator_type(), 0}.is_available()) {
    throw UnavailableError(concat("this machine has no NVIDIA GPU with a driver; LOCKSTEP_PRESET=cpu ./lockstep run ",
                                  "04 ladder -- ", entry.name, " climbs on the emulator"));
  }
  const std::vector<ListedRung> rungs = right_rungs(entry);
  if (is_emulated())
    print_counts(entry, sizes, rungs);
  else
    print_times(entry, sizes, rungs, options);
  return rungs.size() == entry.rungs(plain_registry()).size() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Climbs the ladder of a kernel, from naive to fast; without a name it lists the ladders");
  Options options;
  app.add_option("kernel", options.kernel, "The kernel whose ladder to climb");
  app.add_option("--sizes", options.sizes, "Sizes in place of the usual ones, such as 4096,1024")
      .check(whole_number(1))
      .without_default();
  app.add_option("--repetitions", options.repetitions, "Timed runs on a GPU, of which the median is shown")
      .check(whole_number(1));
  return run_main(app, argc, argv, [&] {
    if (!options.kernel.empty()) return climb(options);
    list_ladders();
    return 0;
  });
}
