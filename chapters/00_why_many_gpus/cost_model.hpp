#pragma once
/// @file
/// The cost of a message: t = alpha + bytes / beta. The times of the star, mesh, ring and tree all-reduce all
/// follow from it. Arithmetic only; `link_budget` and `link_probe` print it.
///
/// Vocabulary:
///   alpha     latency: the cost of even an empty message, in seconds.
///   beta      bandwidth of one direction, in bytes per second. Links are full duplex: a rank sends and receives at
///             the same time, each at beta.
///   port      the one link by which a rank reaches all others. The bytes of all messages in one direction share it,
///             so the busiest port decides how long a collective takes.
///   step      messages that travel at the same time: their latencies overlap, so a step costs one alpha. The next step
///             begins when they have arrived.
#include <span>
#include <string>
#include <string_view>

namespace lockstep::plan {

/// One direction of a link.
struct Link {
  double alpha_seconds = 0;
  double bytes_per_second = 1;  ///< Beta.

  /// Seconds from the first byte's departure to the last one's arrival.
  [[nodiscard]] double seconds(double bytes) const noexcept { return alpha_seconds + bytes / bytes_per_second; }

  /// The message size at which latency is half of the time: alpha * beta bytes. Smaller messages call for fewer
  /// messages, larger ones for fewer bytes.
  [[nodiscard]] double half_latency_bytes() const noexcept { return alpha_seconds * bytes_per_second; }
};

/// A kind of link with the figures from its specification.
struct KnownLink {
  std::string_view name;     ///< "PCIe 3 x16".
  double label_gb_s;         ///< As usually quoted, in 10^9 bytes/s: PCIe and networks one direction, NVLink both.
  double one_way_gb_s;       ///< One direction, all lanes or links of a GPU together.
  double alpha_us;           ///< Latency of one ring step.
  std::string_view made_of;  ///< How the bandwidth adds up.
};

/// PCIe 3 to 5, NVLink 2 to 4, NVSwitch, InfiniBand, Ethernet: from slow to fast within each kind.
/// @source Bandwidths: PCI Express Base Specification 3.0 to 5.0 (8, 16, 32 GT/s per lane, 128b/130b coding); NVIDIA
///         whitepapers of V100 (2017), A100 (2020) and H100 (2022) (6, 12, 18 NVLinks of 25 GB/s each way); InfiniBand
///         Trade Association's roadmap (4x HDR 200, NDR 400 Gbit/s); IEEE 802.3. Latencies: NCCL 2.19,
///         src/graph/tuning.cc, hwLat, ring with the simple protocol: 3.4 us NVLink, 5.7 us PCIe, 14 us network.
[[nodiscard]] std::span<const KnownLink> known_links() noexcept;

/// The link of that name, ignoring case.
/// @throws UsageError  Unknown name; lists the known ones.
[[nodiscard]] const KnownLink& known_link(std::string_view name);

/// One direction of a known link.
[[nodiscard]] Link one_way(const KnownLink& known) noexcept;

/// Ways to give each of P ranks the sum of all ranks' buffers of n bytes.
///   kStar  all send to one rank, which adds and sends the sum to each.
///   kMesh  each sends its whole buffer to every other, and each adds for itself.
///   kRing  the buffer is cut into P chunks that travel round the ring twice (chapter 02).
///   kTree  pairs add, then pairs of pairs, ... up to one rank; the sum returns the same way.
enum class Algorithm { kStar, kMesh, kRing, kTree };

/// "star", "mesh", "ring", "tree".
[[nodiscard]] std::string_view name_of(Algorithm algorithm) noexcept;

/// The cost of an all-reduce at its busiest port.
struct AllReduceCost {
  int steps = 0;              ///< Sequential steps; each costs an alpha.
  double bytes_per_step = 0;  ///< Through the port in one direction, in each step.
  double one_way_bytes = 0;   ///< Through the port in each direction, over the whole collective.

  /// Seconds of the whole collective on `link`.
  [[nodiscard]] double seconds(const Link& link) const noexcept { return steps * link.seconds(bytes_per_step); }
};

/// @param world_size  P, at least 1. @param bytes  n, the size of one rank's buffer.
/// @return  No steps for one rank. Otherwise star: 2 steps of (P-1) n; mesh: 1 step of (P-1) n; ring: 2(P-1) steps of
///          n/P; tree: 2 ceil(log2 P) steps of n.
/// @source Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005,
///         section 3 (the model) and 4. They charge an alpha for each message of a port, which is right if a rank
///         finishes one message before it begins the next. Ours do not wait.
/// @throws ContractError  world_size < 1.
[[nodiscard]] AllReduceCost all_reduce_cost(Algorithm algorithm, int world_size, double bytes);

/// The back-of-the-envelope estimate: the buffer crosses a link of the labelled bandwidth once, in one direction,
/// without latency or overlap with computation, and the time is rounded to one digit before it is used.
struct Envelope {
  double exact_ms = 0;    ///< bytes / label.
  double rounded_ms = 0;  ///< To one significant digit.
  double share = 0;       ///< rounded_ms / (step_ms + rounded_ms): communication's share of a step.
};

/// @param step_ms  Computation time of one step, without communication.
[[nodiscard]] Envelope back_of_the_envelope(double bytes, double label_gb_s, double step_ms);

/// One measurement of a link.
struct LinkSample {
  double bytes = 0;
  double seconds = 0;  ///< From departure to arrival.
};

/// The alpha and beta that fit the samples best: least squares of the relative error, sum of ((alpha + bytes / beta -
/// t) / t)^2, so that 1 microsecond and 1 second weigh the same. A negative alpha becomes 0.
/// @throws ContractError  Fewer than two different sizes, or a time that is not positive.
/// @throws FormatError    Larger messages took less time: not a link.
[[nodiscard]] Link fit_link(std::span<const LinkSample> samples);

}  // namespace lockstep::plan
