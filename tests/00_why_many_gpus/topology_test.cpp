#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "00_why_many_gpus/topology/matrix.hpp"
#include "00_why_many_gpus/topology/ring_order.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::plan;

namespace {

Topology example(const std::string& name) {
  const std::string path = std::string(LOCKSTEP_TOPOLOGIES) + "/" + name;
  return parse_topology(read_file(path), name);
}

// GPUs whose paths are drawn from `words`.
Topology random_topology(int gpus, const std::vector<Path>& words, unsigned seed) {
  std::mt19937 random(seed);
  Topology topology;
  topology.devices.resize(gpus);
  topology.paths.assign(gpus, std::vector<Path>(gpus));
  for (int a = 0; a < gpus; ++a) {
    topology.devices[a].name = "GPU" + std::to_string(a);
    for (int b = 0; b < a; ++b) topology.paths[a][b] = topology.paths[b][a] = words[random() % words.size()];
  }
  return topology;
}

// The best ring by dynamic programming over sets of visited GPUs (Held and Karp, 1962): the greatest sum of strengths
// of a closed way that uses no path weaker than `threshold`; -1 if there is none.
int best_sum(const Topology& topology, int threshold) {
  const int gpus = topology.gpu_count();
  std::vector<std::vector<int>> best(1 << gpus, std::vector<int>(gpus, -1));
  best[1][0] = 0;
  for (int set = 1; set < 1 << gpus; ++set) {
    for (int last = 0; last < gpus; ++last) {
      if (best[set][last] < 0) continue;
      for (int next = 0; next < gpus; ++next) {
        if ((set >> next & 1) != 0) continue;
        const int strength = topology.path(last, next).strength();
        if (strength < threshold) continue;
        int& there = best[set | 1 << next][next];
        there = std::max(there, best[set][last] + strength);
      }
    }
  }
  int sum = -1;
  for (int last = 1; last < gpus; ++last) {
    const int strength = topology.path(last, 0).strength(), way = best[(1 << gpus) - 1][last];
    if (way >= 0 && strength >= threshold) sum = std::max(sum, way + strength);
  }
  return sum;
}

const std::vector<Path>& all_paths() {
  static const std::vector<Path> kPaths = {{PathKind::kSystem, 0},  {PathKind::kNode, 0},   {PathKind::kHostBridge, 0},
                                           {PathKind::kBridges, 0}, {PathKind::kBridge, 0}, {PathKind::kNvLinks, 1},
                                           {PathKind::kNvLinks, 2}};
  return kPaths;
}

}  // namespace

TEST_CASE("an A100 machine's matrix is read with its network cards and affinities", "[plan][topology][chapter]") {
  const Topology topology = example("a100_nvlink.txt");
  REQUIRE(topology.devices.size() == 12);
  CHECK(topology.gpu_count() == 8);
  CHECK(topology.path(0, 0).kind == PathKind::kSelf);
  CHECK(topology.path(0, 7) == Path{PathKind::kNvLinks, 12});
  CHECK(topology.path(0, 7).text() == "NV12");
  CHECK(topology.path(1, 8).text() == "PXB");
  CHECK(topology.path(8, 1).text() == "PXB");
  CHECK(topology.path(2, 8).text() == "NODE");
  CHECK(topology.path(7, 8).text() == "SYS");
  CHECK(topology.devices[0].cpu_affinity == "0-31,64-95");
  CHECK(topology.devices[0].numa_affinity == "0");
  CHECK(topology.devices[0].gpu_numa_id == "N/A");
  CHECK(topology.devices[7].numa_affinity == "1");
  CHECK(topology.devices[8].name == "NIC0");
  CHECK(topology.devices[8].model == "mlx5_0");
  CHECK(topology.devices[8].cpu_affinity.empty());
  CHECK_FALSE(topology.devices[8].is_gpu());
}

TEST_CASE("a ring crosses the sockets of a workstation twice instead of four times", "[plan][topology][chapter]") {
  const Topology topology = example("pcie_workstation.txt");
  const RingOrder proposed = propose_ring(topology);
  CHECK(proposed.gpus == std::vector<int>{0, 1, 3, 2});
  CHECK(proposed.is_exact);
  CHECK(proposed.weakest == 1);  // SYS cannot be avoided
  CHECK(proposed.sum == 2 * 1 + 2 * 3);
  CHECK(ring_along(topology, {0, 1, 2, 3}).sum == 4 * 1);
}

TEST_CASE("no ring through four GPUs stays on the NVLinks of two pairs", "[plan][topology][chapter]") {
  const Topology topology = example("nvlink_pairs.txt");
  REQUIRE(topology.gpu_count() == 4);
  CHECK(topology.path(2, 3) == Path{PathKind::kNvLinks, 12});
  CHECK(topology.path(1, 2).text() == "PXB");
  const RingOrder proposed = propose_ring(topology);
  CHECK(proposed.gpus == std::vector<int>{0, 1, 2, 3});
  CHECK(proposed.weakest == topology.path(1, 2).strength());
  CHECK(proposed.sum == 2 * topology.path(0, 1).strength() + 2 * topology.path(1, 2).strength());
  CHECK(best_sum(topology, topology.path(0, 1).strength()) == -1);  // no closed way over NVLinks alone
}

TEST_CASE("the matrix is read from a terminal, from blanks, and from older drivers", "[plan][topology][chapter]") {
  const std::string underlined =
      "$ nvidia-smi topo -m\n\t\033[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\r\n"
      "GPU0\t X \tNV4\t0-23\t0\t\tN/A\r\nGPU1\tNV4\t X \t0-23\t0\t\tN/A\r\n";
  const std::string blanks =
      "        GPU0    GPU1    mlx5_0  CPU Affinity\n"
      "GPU0     X      NV4     PHB     0-23\n"
      "GPU1    NV4      X      PHB     0-23\n"
      "mlx5_0  PHB     PHB      X\n";
  const Topology terminal = parse_topology(underlined, "test"), pasted = parse_topology(blanks, "test");
  CHECK(terminal.path(0, 1) == Path{PathKind::kNvLinks, 4});
  CHECK(terminal.devices[1].numa_affinity == "0");
  CHECK(terminal.devices[1].gpu_numa_id == "N/A");
  CHECK(pasted.gpu_count() == 2);
  CHECK(pasted.devices[2].name == "mlx5_0");
  CHECK(pasted.devices[1].cpu_affinity == "0-23");
  CHECK(pasted.devices[1].numa_affinity.empty());
  const Topology alone = parse_topology("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t\t\n", "test");
  CHECK(alone.gpu_count() == 1);
  CHECK_THROWS_AS(propose_ring(alone), ContractError);
}

TEST_CASE("wrong matrices are refused with line and column", "[plan][topology][chapter]") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "t:1:1: no line begins with GPU0"},
      {"hello\nworld\n", "t:3:1: no line begins with GPU0"},
      {"GPU0\t X \tNV1\n", "t:1:7: this is a row; the header line above it (GPU0 GPU1 ...) is missing"},
      {"\tGPU0\tGPU1\nGPU0\t X \tNV0\nGPU1\tNV0\t X \n", "t:2:10: the path from GPU0 to GPU1 is \"NV0\""},
      {"\tGPU0\tGPU1\nGPU0\t X \tPIG\n", "t:2:10: the path from GPU0 to GPU1 is \"PIG\""},
      {"\tGPU0\tGPU1\nGPU0\t X \n", "t:2:9: the path from GPU0 to GPU1 is missing"},
      {"\tGPU0\tGPU1\nGPU0\t X \tSYS\n", "t:3:1: the row of GPU1 is missing"},
      {"\tGPU0\tGPU1\nGPU0\t X \tSYS\n\nGPU1\tSYS\t X \n", "t:3:1: the row of GPU1 is missing"},
      {"\tGPU0\tGPU1\nGPU1\tSYS\t X \n", "t:2:1: expected the row of GPU0, found GPU1"},
      {"\tGPU0\tGPU1\nGPU0\tSYS\tSYS\n", "t:2:6: the path from GPU0 to GPU0 is SYS; X belongs on the diagonal only"},
      {"\tGPU0\tGPU1\nGPU0\t X \t X \n", "t:2:11: the path from GPU0 to GPU1 is X; X belongs on the diagonal only"},
      {"\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tPHB\t X \n", "t:3:6: GPU1 to GPU0 is PHB, but the way back is SYS"},
      {"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-3\t0\n", "t:2:18: \"0\" is in no column of the header"},
      {"\tGPU0\tGPU0\n", "t:1:7: GPU0 occurs twice in the header"},
      {"\tGPU0\tNIC0\tGPU1\n", "t:1:12: GPU1 comes after a network card; GPUs come first"},
  };
  for (const auto& [text, message] : wrong) {
    INFO(text);
    std::string said;
    try {
      (void)parse_topology(text, "t");
    } catch (const FormatError& error) {
      said = error.what();
    }
    CHECK_THAT(said, ContainsSubstring(message));
  }
}

TEST_CASE("a mutilated matrix is read or refused, nothing else", "[plan][topology][chapter]") {
  const std::string whole = read_file(std::string(LOCKSTEP_TOPOLOGIES) + "/a100_nvlink.txt");
  constexpr std::string_view kBytes = "\t\n X0N\033[:\xff";
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole.substr(0, round % 5 == 0 ? random() % whole.size() : whole.size());
    for (int i = 0; i < 3 && !text.empty(); ++i) text[random() % text.size()] = kBytes[random() % kBytes.size()];
    try {
      const Topology topology = parse_topology(text, "t");
      CHECK(topology.paths.size() == topology.devices.size());
    } catch (const FormatError&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(refused < 2000);  // some of the bytes are in the legend
}

TEST_CASE("paths are ordered as the legend orders them", "[plan][topology][chapter]") {
  int last = 0;
  for (const Path& path : all_paths()) {
    CHECK(path.strength() > last);
    last = path.strength();
    CHECK_FALSE(meaning_of(path.kind).empty());
  }
}

TEST_CASE("up to 9 GPUs no ring is better than the proposed one", "[plan][topology][chapter]") {
  for (int gpus = 2; gpus <= 9; ++gpus) {
    for (unsigned seed = 0; seed < (gpus < 8 ? 20u : 3u); ++seed) {
      const Topology topology = random_topology(gpus, all_paths(), 100 * gpus + seed);
      int threshold = 7;  // NV2, the strongest
      while (best_sum(topology, threshold) < 0) --threshold;
      const RingOrder ring = propose_ring(topology);
      INFO(gpus << " GPUs, seed " << seed);
      CHECK(ring.is_exact);
      CHECK(ring.weakest == threshold);
      CHECK(ring.sum == best_sum(topology, threshold));
      CHECK(
          std::is_permutation(ring.gpus.begin(), ring.gpus.end(), std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}.begin()));
    }
  }
}

TEST_CASE("above 9 GPUs the ring is a good one and says that it was not proved", "[plan][topology][chapter]") {
  // 12 GPUs, even and odd ones on two sockets: the order of numbers crosses 12 times, the best ring twice.
  Topology topology = random_topology(12, {{PathKind::kSystem, 0}}, 1);
  for (int a = 0; a < 12; ++a) {
    for (int b = 0; b < 12; ++b) {
      if (a != b && a % 2 == b % 2) topology.paths[a][b] = {PathKind::kNvLinks, 4};
    }
  }
  const RingOrder ring = propose_ring(topology);
  CHECK_FALSE(ring.is_exact);
  std::vector<int> sorted = ring.gpus;
  std::ranges::sort(sorted);
  std::vector<int> all(12);
  std::iota(all.begin(), all.end(), 0);
  CHECK(sorted == all);
  CHECK(ring.sum == 10 * 9 + 2 * 1);
}
