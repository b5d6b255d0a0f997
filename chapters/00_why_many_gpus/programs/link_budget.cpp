// link_budget: the cost of adding up the gradients of all GPUs: on the back of an envelope, by the bytes that a ring
// really sends, and for star, mesh, ring and tree.
#include <iostream>
#include <string>

#include "00_why_many_gpus/cost_model.hpp"
#include "base/command_line.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::plan;

constexpr double kMb = 1e6;

struct Options {
  double megabytes = 100;
  int gpus = 4;
  double step_ms = 50;
  std::string link = "PCIe 3 x16";
};

// About three significant digits: "0.33", "6.25", "106".
std::string short_number(double value) {
  return with_digits(value, value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 4);
}

std::string percent(double share) { return with_digits(100 * share, share < 0.01 ? 1 : 0) + " %"; }

void print_envelope(const Options& options, const char* name) {
  const KnownLink& link = known_link(name);
  const Envelope envelope = back_of_the_envelope(options.megabytes * kMb, link.label_gb_s, options.step_ms);
  std::cout << wrap_words(
      concat("  ", name, ": ", options.megabytes, " MB / ", link.label_gb_s,
             " GB/s = ", short_number(envelope.exact_ms), " ms, about ", envelope.rounded_ms, "; ", envelope.rounded_ms,
             " / (", options.step_ms, " + ", envelope.rounded_ms, ") = ", percent(envelope.share), "\n"),
      80, 4);
}

void print_ring(const Options& options) {
  const AllReduceCost ring = all_reduce_cost(Algorithm::kRing, options.gpus, options.megabytes * kMb);
  std::cout << "\nA ring of " << options.gpus << " GPUs: each sends " << short_number(ring.one_way_bytes / kMb)
            << " MB and receives as much at the same time,\nin " << ring.steps << " steps of "
            << short_number(ring.bytes_per_step / kMb) << " MB\n";
  TextTable table;
  table.add({"link, GB/s", "label", "one way", "envelope ms", "ring ms", "ring/envelope", "of a step"});
  for (const KnownLink& known : known_links()) {
    const double envelope_ms = options.megabytes * kMb / (known.label_gb_s * 1e9) * 1e3;
    const double ring_ms = ring.seconds(one_way(known)) * 1e3;
    table.add({std::string(known.name), short_number(known.label_gb_s), short_number(known.one_way_gb_s),
               short_number(envelope_ms), short_number(ring_ms), with_digits(ring_ms / envelope_ms, 1),
               percent(ring_ms / (options.step_ms + ring_ms))});
  }
  std::cout << table.text();
}

void print_algorithms(const Options& options) {
  const KnownLink& known = known_link(options.link);
  const Link link = one_way(known);
  std::cout << "\nOn " << known.name << " (" << known.made_of << "), with an alpha of " << known.alpha_us
            << " us:\nhalf the time of a message of " << short_number(link.half_latency_bytes() / 1e3)
            << " KB is latency\n";
  TextTable table;
  table.add({"algorithm", "steps", "MB a step", "MB each way, busiest", "latency ms", "bytes ms", "sum ms"});
  for (const Algorithm algorithm : {Algorithm::kStar, Algorithm::kMesh, Algorithm::kRing, Algorithm::kTree}) {
    const AllReduceCost cost = all_reduce_cost(algorithm, options.gpus, options.megabytes * kMb);
    const double latency_ms = cost.steps * link.alpha_seconds * 1e3, all_ms = cost.seconds(link) * 1e3;
    table.add({std::string(name_of(algorithm)), std::to_string(cost.steps), short_number(cost.bytes_per_step / kMb),
               short_number(cost.one_way_bytes / kMb), short_number(latency_ms), short_number(all_ms - latency_ms),
               short_number(all_ms)});
  }
  std::cout << table.text();
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Prints what an all-reduce costs on common links; the default is the gradient of a ResNet-50");
  Options options;
  app.add_option("--megabytes", options.megabytes, "Of the buffer on each GPU").check(positive_number());
  app.add_option("--gpus", options.gpus, "GPUs").check(whole_number(1, 1'000'000));
  app.add_option("--step-ms", options.step_ms, "Computing of one step").check(positive_number());
  app.add_option("--link", options.link, "For the last table; the second lists them");
  return run_main(app, argc, argv, [&] {
    std::cout << options.megabytes << " MB to add up in each step of " << options.step_ms
              << " ms\n\nBy the back of the envelope: bytes / label, once; and the share of a step\n";
    print_envelope(options, "PCIe 3 x16");
    print_envelope(options, "NVLink 2");
    print_ring(options);
    print_algorithms(options);
    return 0;
  });
}
