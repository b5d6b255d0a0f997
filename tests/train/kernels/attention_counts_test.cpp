// Reads, writes and products of the kernels of attention's backward pass, counted by the emulator.
#include "emulator/checker/control.hpp"
#include "emulator/checker/findings.hpp"
#include "emulator/checker/metrics.hpp"
#include "emulator/engine/execution.hpp"
#include "kernels/attention_testing.hpp"
#include "kernels/checked_kernels.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using namespace lockstep::kernels::testing;

namespace {

/// Checks and counts kernels until the end of the scope.
class CountedScope {
 public:
  CountedScope() {
    emulator::enable_checks(true);
    emulator::enable_metrics(true);
    emulator::clear_metrics();
  }
  ~CountedScope() {
    emulator::enable_checks(checks_before_);
    emulator::enable_metrics(metrics_before_);
  }
  CountedScope(const CountedScope&) = delete;
  CountedScope& operator=(const CountedScope&) = delete;

 private:
  bool checks_before_ = emulator::checks_enabled(), metrics_before_ = emulator::metrics_enabled();
};

class SeedScope {
 public:
  explicit SeedScope(std::uint64_t seed) { emulator::set_schedule_seed(seed); }
  ~SeedScope() { emulator::set_schedule_seed(before_); }
  SeedScope(const SeedScope&) = delete;
  SeedScope& operator=(const SeedScope&) = delete;

 private:
  std::uint64_t before_ = emulator::schedule_seed();
};

/// Both passes by the checked kernels, in bfloat16.
Tensor gradient_of(const AttentionSizes& s) {
  TestDevice device;
  const Operations& ops = checked_operations();
  const Tensor qkv = random_stored(DType::kBFloat16, {s.B, s.T, 3 * s.H * s.D}, 1);
  const Tensor dy = random_stored(DType::kBFloat16, {s.B, s.T, s.H * s.D}, 2);
  return on_device(device, ops, s, qkv, dy, {}).gradient;
}

/// Requests of a warp (shared memory), or bytes (global memory), of one kernel.
struct Counts {
  std::int64_t matrix_loads = 0, bytes_read = 0, bytes_written = 0;
};

void check_equal(const Counts& counts, const Counts& expected) {
  CHECK(counts.matrix_loads == expected.matrix_loads);
  CHECK(counts.bytes_read == expected.bytes_read);
  CHECK(counts.bytes_written == expected.bytes_written);
}

Counts counts_of(const std::string& kernel) {
  Counts counts;
  for (const emulator::MetricsRow& row : emulator::metrics()) {
    if (row.kernel.find(kernel) == std::string::npos) continue;
    const auto bytes = static_cast<std::int64_t>(row.bytes);
    if (row.is_shared) {
      const bool is_matrix = row.operation == "load" && row.place.file.ends_with("attention_tensor_core.cuh");
      if (is_matrix) counts.matrix_loads += static_cast<std::int64_t>(row.requests);
    } else if (row.operation == "load") {
      counts.bytes_read += bytes;
    } else if (row.operation == "store") {
      counts.bytes_written += bytes;
    }
  }
  return counts;
}

/// The counts of a kernel whose blocks have a tile of their own and visit, of H heads, the tiles from it on or up to
/// it: `products` tile products a visit. A product is D ldmatrix of the right factor; each serves two mma.
Counts expected_counts(const AttentionSizes& s, std::int64_t products, std::int64_t visited_bytes,
                       std::int64_t own_bytes, std::int64_t written_arrays, bool is_later) {
  const std::int64_t tiles = (s.T + 63) / 64;
  const auto rows_of = [&](std::int64_t tile) { return std::min<std::int64_t>(64, s.T - 64 * tile); };
  Counts counts;
  for (std::int64_t own = 0; own < tiles; ++own) {
    counts.bytes_read += rows_of(own) * (2 * 2 * s.D + own_bytes);
    counts.bytes_written += rows_of(own) * written_arrays * 2 * s.D;
    const std::int64_t begin = is_later ? own : 0, end = is_later ? tiles : own + 1, visits = end - begin;
    counts.matrix_loads += products * s.D * visits;
    // The left factors of two products: 4 warps, D / 16 ldmatrix each, once or for each half of a visited tile.
    counts.matrix_loads += 2 * s.D / 4 * (s.D <= 64 ? 1 : 2 * visits);
    for (std::int64_t other = begin; other < end; ++other) {
      counts.bytes_read += rows_of(other) * (2 * 2 * s.D + visited_bytes);
    }
  }
  return {s.H * counts.matrix_loads, s.H * counts.bytes_read, s.H * counts.bytes_written};
}

}  // namespace

TEST_CASE("gradients of attention in bfloat16 take the products and bytes of their formula",
          "[kernels][emulator][counted]") {
  for (const std::int64_t D : {64, 128}) {
    const AttentionSizes s{1, 130, 2, D};
    const CountedScope scope;
    static_cast<void>(gradient_of(s));
    CAPTURE(D);
    // A query's statistics are 8 bytes; in the kernel of queries four lanes read them, once.
    check_equal(counts_of("attend_backward_keys_on_tensor_cores"), expected_counts(s, 4, 8, 0, 2, true));
    check_equal(counts_of("attend_backward_queries_on_tensor_cores"), expected_counts(s, 3, 0, 4 * 8, 1, false));
    CHECK(emulator::findings().empty());
  }
}

TEST_CASE("gradients of attention in bfloat16 have the same bits in any order of blocks and threads",
          "[kernels][emulator][counted]") {
  const AttentionSizes s{2, 130, 2, 64};
  const CountedScope scope;
  std::vector<Tensor> gradients;
  for (const std::uint64_t seed : {0U, 1U, 7U}) {
    const SeedScope order(seed);
    gradients.push_back(gradient_of(s));
  }
  CHECK(equal_bits(gradients[0], gradients[1]));
  CHECK(equal_bits(gradients[0], gradients[2]));
}
