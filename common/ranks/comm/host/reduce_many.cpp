#include "comm/host/reduce_many.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/error.hpp"
#include "comm/copy_bytes.hpp"
#include "comm/host/reduce_ops.hpp"
#include "comm/reduce.hpp"

namespace lockstep::comm {
namespace {

// A tile of every source and the destination stay in the first cache while the result is divided and copied.
constexpr std::size_t kTileBytes = 8 * 1024;

// Element type for arithmetic: float32 for bfloat16, rounded after every step.
template <typename T, typename Op>
T combine(T a, T b, Op op) {
  return op(a, b);
}
template <typename Op>
BFloat16 combine(BFloat16 a, BFloat16 b, Op op) {
  return to_bfloat16(op(to_float(a), to_float(b)));
}

// Two to four sources in one loop. An element is read before it is written, and at its own index only: a destination
// that is one of the sources is safe, which the compiler cannot know.
template <typename T, typename Op>
void reduce_two(T* out, const T* a, const T* b, std::int64_t count, Op op) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) out[i] = combine(a[i], b[i], op);
}
template <typename T, typename Op>
void reduce_three(T* out, const T* a, const T* b, const T* c, std::int64_t count, Op op) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) out[i] = combine(combine(a[i], b[i], op), c[i], op);
}
template <typename T, typename Op>
void reduce_four(T* out, const T* a, const T* b, const T* c, const T* d, std::int64_t count, Op op) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = combine(combine(combine(a[i], b[i], op), c[i], op), d[i], op);
  }
}

// Reduces one tile of all sources into `out`, which is separate memory or the first source's tile. With more than four
// sources, the partial result, still in the cache, is the first source of the next loop.
template <typename T, typename Op>
void reduce_tile(T* out, std::span<const void* const> sources, std::size_t first_byte, std::int64_t count, Op op) {
  const auto tile_of = [&](std::size_t source) {
    return reinterpret_cast<const T*>(static_cast<const std::byte*>(sources[source]) + first_byte);
  };
  const T* partial = tile_of(0);
  for (std::size_t next = 1; next < sources.size();) {
    const std::size_t left = sources.size() - next;
    if (left == 1)
      reduce_two(out, partial, tile_of(next), count, op);
    else if (left == 2)
      reduce_three(out, partial, tile_of(next), tile_of(next + 1), count, op);
    else
      reduce_four(out, partial, tile_of(next), tile_of(next + 1), tile_of(next + 2), count, op);
    next += std::min<std::size_t>(left, 3);
    partial = out;
  }
}

struct Job {
  std::span<const void* const> sources;
  std::span<void* const> destinations;
  std::int64_t count;
  DType dtype;
  ReduceOp op;
};

template <typename T, typename Op>
void reduce_tiles(const Job& job, Op op) {
  constexpr auto kTile = static_cast<std::int64_t>(kTileBytes / sizeof(T));
  alignas(64) std::array<std::byte, kTileBytes> partial;
  const auto world_size = static_cast<int>(job.sources.size());
  for (std::int64_t first = 0; first < job.count; first += kTile) {
    const std::int64_t count = std::min(kTile, job.count - first);
    const std::size_t first_byte = static_cast<std::size_t>(first) * sizeof(T);
    const auto destination = [&](std::size_t i) { return static_cast<std::byte*>(job.destinations[i]) + first_byte; };
    // With more than four sources the loops above read some of them after writing: so they must not write to a
    // destination, which may be one of those.
    std::byte* const out = world_size <= 4 ? destination(0) : partial.data();
    if (world_size == 1 && out != job.sources[0])
      std::memmove(out, static_cast<const std::byte*>(job.sources[0]) + first_byte,
                   static_cast<std::size_t>(count) * sizeof(T));
    reduce_tile(reinterpret_cast<T*>(out), job.sources, first_byte, count, op);
    finish_mean(out, count, job.dtype, job.op, world_size);
    for (std::size_t i = out == destination(0) ? 1 : 0; i < job.destinations.size(); ++i) {
      copy_bytes(destination(i), out, static_cast<std::size_t>(count) * sizeof(T));
    }
  }
}

template <typename T>
void reduce_typed(const Job& job) {
  switch (job.op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return reduce_tiles<Wrapping<T>>(job, Add{});
    case ReduceOp::kProduct:
      return reduce_tiles<Wrapping<T>>(job, Multiply{});
    case ReduceOp::kMin:
      return reduce_tiles<T>(job, Minimum{});
    case ReduceOp::kMax:
      return reduce_tiles<T>(job, Maximum{});
  }
}

}  // namespace

void reduce_many(std::span<const void* const> sources, std::span<void* const> destinations, std::int64_t count,
                 DType dtype, ReduceOp op) {
  require(!sources.empty() && !destinations.empty(), "reduce_many: ", sources.size(), " sources, ", destinations.size(),
          " destinations; each needs one");
  const Job job{sources, destinations, count, dtype, op};
  switch (dtype) {
    case DType::kFloat32:
      return reduce_typed<float>(job);
    case DType::kFloat64:
      return reduce_typed<double>(job);
    case DType::kBFloat16:
      return reduce_typed<BFloat16>(job);
    case DType::kInt32:
      return reduce_typed<std::int32_t>(job);
    case DType::kInt64:
      return reduce_typed<std::int64_t>(job);
    case DType::kUInt8:
    case DType::kFloat16:
      break;
  }
  require_reducible("reduce_many", dtype);
}

}  // namespace lockstep::comm
