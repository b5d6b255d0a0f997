// topology: reads the matrix of `nvidia-smi topo -m` (from a file, standard input, or by running it), says what
// connects each pair of GPUs, which GPUs and network cards are close to each other, and in which order a ring should
// visit them.
#include <unistd.h>

#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "00_why_many_gpus/topology/matrix.hpp"
#include "00_why_many_gpus/topology/ring_order.hpp"
#include "base/command_line.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "base/terminal.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::plan;

std::string output_of_nvidia_smi() {
  std::string text;
  try {
    text = run_process({.command = {"nvidia-smi", "topo", "-m"}, .empty_streams = {STDERR_FILENO}}, Collect::kOutput)
               .output;
  } catch (const IoError&) {
    // not installed, as the message below says
  }
  if (text.empty()) {
    throw UnavailableError(
        "nvidia-smi is not on this machine or finds no GPU; give a file that holds the output of `nvidia-smi topo -m`, "
        "for example chapters/00_why_many_gpus/topology/a100_nvlink.txt");
  }
  return text;
}

Topology read_topology(const std::string& file) {
  if (file.empty()) return parse_topology(output_of_nvidia_smi(), "nvidia-smi");
  if (file == "-") return parse_topology(std::string(std::istreambuf_iterator<char>(std::cin), {}), "standard input");
  return parse_topology(read_file(file), file);
}

const std::string& name_of(const Topology& topology, int device) {
  return topology.devices[static_cast<std::size_t>(device)].name;
}

struct Group {
  Path path;
  std::string pairs;
  int count = 0;
};
using Groups = std::map<int, Group, std::greater<>>;  // by strength, the fastest first

void add_pair(Groups& groups, const Topology& topology, int a, int b) {
  Group& group = groups[topology.path(a, b).strength()];
  group.path = topology.path(a, b);
  group.pairs += concat(group.count++ == 0 ? "" : ", ", name_of(topology, a), "-", name_of(topology, b));
}

void print_groups(const char* title, const Groups& groups) {
  if (groups.empty()) return;
  std::cout << title << ", the fastest first:\n";
  for (const auto& [strength, group] : groups) {
    std::cout << concat("  ", group.path.text(), ": ", meaning_of(group.path.kind), "\n");
    if (group.path.kind == PathKind::kNvLinks) {
      std::cout << concat("    ", group.path.nvlinks, " x 25 GB/s (NVLink 2 to 4) = ", 25 * group.path.nvlinks,
                          " GB/s each way\n");
    }
    const bool is_last = strength == groups.rbegin()->first;  // the pairs not named above
    const bool is_long = is_last && group.count > 8;
    const std::string pairs =
        is_long ? concat(groups.size() == 1 ? "all " : "the other ", group.count, " pairs") : group.pairs;
    std::cout << wrap_words(concat("    ", pairs, "\n"), 80, 4);
  }
}

void print_paths(const Topology& topology) {
  const int gpus = topology.gpu_count(), devices = static_cast<int>(topology.devices.size());
  Groups among_gpus, to_cards;
  for (int a = 0; a < gpus; ++a) {
    for (int b = a + 1; b < devices; ++b) add_pair(b < gpus ? among_gpus : to_cards, topology, a, b);
  }
  print_groups("Between the GPUs", among_gpus);
  print_groups("From the GPUs to the network cards", to_cards);
}

// The network cards that a GPU reaches fastest.
std::string nearest_cards(const Topology& topology, int gpu) {
  int best = 0;
  std::string cards;
  for (int card = topology.gpu_count(); card < static_cast<int>(topology.devices.size()); ++card) {
    const Path& path = topology.path(gpu, card);
    if (path.strength() < best) continue;
    if (path.strength() > best) cards.clear();
    best = path.strength();
    const std::string& model = topology.devices[static_cast<std::size_t>(card)].model;
    cards += concat(cards.empty() ? "" : ", ", name_of(topology, card), model.empty() ? "" : " = " + model, " by ",
                    path.text());
  }
  return cards;
}

void print_neighbourhoods(const Topology& topology) {
  std::map<std::string, std::vector<int>> groups;  // by NUMA node
  for (int gpu = 0; gpu < topology.gpu_count(); ++gpu) {
    groups[topology.devices[static_cast<std::size_t>(gpu)].numa_affinity].push_back(gpu);
  }
  std::cout << "\nWho is near whom:\n";
  for (const auto& [node, gpus] : groups) {
    const bool is_known = !node.empty() && node != "N/A";
    const TopologyDevice& first = topology.devices[static_cast<std::size_t>(gpus.front())];
    std::cout << (is_known ? "  NUMA node " + node : "  NUMA node unknown")
              << (first.cpu_affinity.empty() ? "" : ", cores " + first.cpu_affinity) << '\n';
    for (const int gpu : gpus) {
      const std::string cards = nearest_cards(topology, gpu);
      const std::string& own = topology.devices[static_cast<std::size_t>(gpu)].gpu_numa_id;
      const bool has_node = !own.empty() && own != "N/A";  // on systems whose processors see the GPU's memory (Grace)
      std::cout << "    " << name_of(topology, gpu) << (has_node ? ", its memory is NUMA node " + own : "")
                << (cards.empty() ? "" : ": nearest network card " + cards) << '\n';
    }
    if (is_known) {
      std::cout << "    start their ranks with: numactl --cpunodebind=" << node << " --membind=" << node << '\n';
    }
  }
}

// "2 PHB, 2 SYS"
std::string hops_of(const Topology& topology, const RingOrder& ring) {
  std::map<int, std::pair<std::string, int>, std::greater<>> counts;
  for (std::size_t i = 0; i < ring.gpus.size(); ++i) {
    const Path& path = topology.path(ring.gpus[i], ring.gpus[(i + 1) % ring.gpus.size()]);
    auto& [word, count] = counts[path.strength()];
    word = path.text();
    ++count;
  }
  std::string text;
  for (const auto& [strength, entry] : counts) {
    text += concat(text.empty() ? "" : ", ", entry.second, " ", entry.first);
  }
  return text;
}

std::string order_of(const RingOrder& ring) {
  std::string text;
  for (const int gpu : ring.gpus) text += concat(gpu, " - ");
  return concat(text, ring.gpus.front());
}

void print_ring(const Topology& topology) {
  if (topology.gpu_count() < 2) {
    std::cout << "\nOne GPU makes no ring.\n";
    return;
  }
  std::vector<int> numbers;
  for (int gpu = 0; gpu < topology.gpu_count(); ++gpu) numbers.push_back(gpu);
  const RingOrder ring = propose_ring(topology), naive = ring_along(topology, numbers);
  std::cout << "\nA ring for all-reduce:\n  " << order_of(ring) << "   hops: " << hops_of(topology, ring)
            << (ring.is_exact ? "   (all orders tried)\n" : "   (too many orders to try all: a good one)\n");
  const bool is_better = ring.weakest != naive.weakest || ring.sum != naive.sum;
  std::cout << (is_better ? concat("  ", order_of(naive), "   hops: ", hops_of(topology, naive),
                                   "   is the order of numbers, and worse\n")
                          : std::string("  No order is better than that of the numbers.\n"));
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Explains the matrix of `nvidia-smi topo -m` and proposes the order of a ring");
  std::string file;
  app.add_option("file", file, "What it has printed; - for standard input; without it nvidia-smi is run");
  return run_main(app, argc, argv, [&] {
    const Topology topology = read_topology(file);
    const auto cards = topology.devices.size() - static_cast<std::size_t>(topology.gpu_count());
    std::cout << counted(topology.gpu_count(), "GPU") << ", " << counted(cards, "network card") << "\n\n";
    print_paths(topology);
    print_neighbourhoods(topology);
    print_ring(topology);
    return 0;
  });
}
