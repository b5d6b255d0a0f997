#include "00_why_many_gpus/cost_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>

#include "base/error.hpp"

namespace lockstep::plan {
namespace {

// NCCL 2.19, src/graph/tuning.cc, hwLat: one step of a ring, simple protocol, in microseconds.
constexpr double kNvLinkAlpha = 3.4, kPcieAlpha = 5.7, kNetworkAlpha = 14.0;

// Lanes send 128 bits of data as 130 bits. @param transfers  10^9 per second and lane.
constexpr double pcie_x16(double transfers) { return transfers * 16 / 8 * 128 / 130; }

constexpr double kNvLinkOneWay = 25;  // GB/s of one NVLink in one direction, in generations 2 to 4

constexpr KnownLink nvlink(std::string_view name, int links, std::string_view made_of) {
  return {name, 2 * links * kNvLinkOneWay, links * kNvLinkOneWay, kNvLinkAlpha, made_of};
}

constexpr std::array<KnownLink, 11> kLinks = {{
    {"PCIe 3 x16", 16, pcie_x16(8), kPcieAlpha, "16 lanes of 8 GT/s, 128b/130b"},
    {"PCIe 4 x16", 32, pcie_x16(16), kPcieAlpha, "16 lanes of 16 GT/s, 128b/130b"},
    {"PCIe 5 x16", 64, pcie_x16(32), kPcieAlpha, "16 lanes of 32 GT/s, 128b/130b"},
    nvlink("NVLink 2", 6, "6 links of 25 GB/s each way (V100)"),
    nvlink("NVLink 3", 12, "12 links of 25 GB/s each way (A100)"),
    nvlink("NVLink 4", 18, "18 links of 25 GB/s each way (H100)"),
    nvlink("NVSwitch", 18, "all 18 NVLinks of an H100 to any other GPU"),
    {"10 GbE", 1.25, 1.25, kNetworkAlpha, "10 Gbit/s each way"},
    {"100 GbE", 12.5, 12.5, kNetworkAlpha, "100 Gbit/s each way"},
    {"InfiniBand HDR", 25, 25, kNetworkAlpha, "4 lanes of 50 Gbit/s each way"},
    {"InfiniBand NDR", 50, 50, kNetworkAlpha, "4 lanes of 100 Gbit/s each way"},
}};

bool is_same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// ceil(log2 P): 0 for 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8.
int levels_of_tree(int world_size) { return std::bit_width(static_cast<unsigned>(world_size - 1)); }

double rounded_to_one_digit(double value) {
  if (value <= 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(value)));
  return std::round(value / unit) * unit;
}

}  // namespace

std::span<const KnownLink> known_links() noexcept { return kLinks; }

const KnownLink& known_link(std::string_view name) {
  std::string known;
  for (const KnownLink& link : kLinks) {
    if (is_same_name(link.name, name)) return link;
    known += concat(known.empty() ? "" : ", ", link.name);
  }
  throw UsageError(concat("there is no link \"", name, "\" here; use one of ", known));
}

Link one_way(const KnownLink& known) noexcept { return {known.alpha_us * 1e-6, known.one_way_gb_s * 1e9}; }

std::string_view name_of(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::kStar:
      return "star";
    case Algorithm::kMesh:
      return "mesh";
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
  }
  return "";
}

AllReduceCost all_reduce_cost(Algorithm algorithm, int world_size, double bytes) {
  require(world_size >= 1, "a job has at least 1 rank, not ", world_size);
  const int others = world_size - 1;
  switch (algorithm) {
    case Algorithm::kStar:  // the centre's port: all other buffers in, then the sum out to all ranks
      return {others > 0 ? 2 : 0, others * bytes, others * bytes};
    case Algorithm::kMesh:  // every port: its own buffer out to all others, while theirs come in
      return {others > 0 ? 1 : 0, others * bytes, others * bytes};
    case Algorithm::kRing:  // every port: a chunk out and a chunk in, in each step of both phases
      return {2 * others, bytes / world_size, 2 * others * bytes / world_size};
    case Algorithm::kTree: {  // the root's port: one buffer in per level, then one out per level
      const int levels = levels_of_tree(world_size);
      return {2 * levels, bytes, levels * bytes};
    }
  }
  return {};
}

Envelope back_of_the_envelope(double bytes, double label_gb_s, double step_ms) {
  Envelope envelope;
  envelope.exact_ms = bytes / (label_gb_s * 1e9) * 1e3;
  envelope.rounded_ms = rounded_to_one_digit(envelope.exact_ms);
  envelope.share = envelope.rounded_ms / (step_ms + envelope.rounded_ms);
  return envelope;
}

Link fit_link(std::span<const LinkSample> samples) {
  // With u = 1 / t and v = bytes / t the relative error is alpha u + v / beta - 1: a plane through the origin, whose
  // two unknowns alpha and g = 1 / beta solve the normal equations
  //   alpha uu + g uv = u        alpha uv + g vv = v        (sums over the samples).
  double uu = 0, uv = 0, vv = 0, u_sum = 0, v_sum = 0;
  bool has_two_sizes = false;
  for (const LinkSample& sample : samples) {
    require(sample.seconds > 0, "a message of ", sample.bytes, " bytes took ", sample.seconds, " s");
    const double u = 1 / sample.seconds, v = sample.bytes / sample.seconds;
    uu += u * u, uv += u * v, vv += v * v, u_sum += u, v_sum += v;
    has_two_sizes = has_two_sizes || sample.bytes != samples.front().bytes;
  }
  require(has_two_sizes, "two unknowns need messages of two sizes at least");

  const double determinant = uu * vv - uv * uv;
  double alpha = (u_sum * vv - v_sum * uv) / determinant;
  double seconds_per_byte = (v_sum * uu - u_sum * uv) / determinant;
  if (alpha < 0) alpha = 0, seconds_per_byte = v_sum / vv;  // the best line through the origin
  if (!(seconds_per_byte > 0)) throw FormatError("larger messages took less time than small ones: this is not a link");
  return {alpha, 1 / seconds_per_byte};
}

}  // namespace lockstep::plan
