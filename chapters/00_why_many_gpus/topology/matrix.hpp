#pragma once
/// @file
/// How each GPU reaches the others: reads the matrix of `nvidia-smi topo -m`. `topology` explains it.
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::plan {

/// The slowest part of the path between two devices, from slow to fast; terms as in the legend of `nvidia-smi topo -m`.
enum class PathKind {
  kSystem,      ///< SYS: PCIe and the link between processors (NUMA nodes).
  kNode,        ///< NODE: PCIe and the link between the host bridges of one NUMA node.
  kHostBridge,  ///< PHB: PCIe and a host bridge, typically the processor.
  kBridges,     ///< PXB: several PCIe bridges, no host bridge.
  kBridge,      ///< PIX: at most one PCIe bridge.
  kNvLinks,     ///< NV#: a number of NVLinks, bonded.
  kSelf,        ///< X: the device itself.
};

/// One cell of the matrix.
struct Path {
  PathKind kind = PathKind::kSelf;
  int nvlinks = 0;  ///< 0 unless kNvLinks.

  bool operator==(const Path&) const = default;

  /// "SYS", "NV12", "X".
  [[nodiscard]] std::string text() const;
  /// Larger is faster: SYS 1, NODE 2, PHB 3, PXB 4, PIX 5, NV# 5 + #. An order, not a bandwidth.
  /// @pre kind is not kSelf.
  [[nodiscard]] int strength() const noexcept;
};

/// The meaning of a path of that kind, in a few words.
[[nodiscard]] std::string_view meaning_of(PathKind kind) noexcept;

/// A row of the matrix: a GPU or a network card.
struct TopologyDevice {
  std::string name;           ///< "GPU0", "NIC0" (older drivers: "mlx5_0").
  std::string model;          ///< Of a NIC, from the NIC legend: "mlx5_0"; else empty.
  std::string cpu_affinity;   ///< Nearby cores, "0-31,64-95"; empty if the column or the cell is missing.
  std::string numa_affinity;  ///< Its NUMA node, "0"; may be empty or "N/A".
  std::string gpu_numa_id;    ///< NUMA node formed by the GPU's own memory; mostly "N/A".

  [[nodiscard]] bool is_gpu() const { return name.starts_with("GPU"); }
};

/// The whole matrix. GPUs come first. A value type.
struct Topology {
  std::vector<TopologyDevice> devices;   ///< In the order of the rows.
  std::vector<std::vector<Path>> paths;  ///< [from][to], symmetric; kSelf on the diagonal.

  /// How many of the devices are GPUs; they are devices[0 .. gpu_count()).
  [[nodiscard]] int gpu_count() const noexcept;
  [[nodiscard]] const Path& path(int from, int to) const {
    return paths[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
};

/// Reads the output of `nvidia-smi topo -m`. Skips lines before the header and ignores terminal codes; columns may be
/// separated by tabs or spaces.
/// @param source  Name of the text in errors: a file name.
/// @throws FormatError  "source:line:column: what is wrong": no header, an unknown word, a missing or surplus cell or
///                      row, a matrix that is not symmetric.
/// @source nvidia-smi manual, section "topo"; the legend that it prints.
[[nodiscard]] Topology parse_topology(std::string_view text, const std::string& source);

}  // namespace lockstep::plan
