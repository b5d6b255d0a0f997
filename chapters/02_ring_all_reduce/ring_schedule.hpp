#pragma once
/// @file
/// Which rank sends which chunk in which step: the whole idea of the ring, as arithmetic. `ring_steps` prints it,
/// RingProcessGroup runs it.
///
/// Vocabulary, used everywhere in this chapter:
///   P      world size, the number of ranks. The ranks sit in a circle: rank r sends only to rank r + 1 and receives
///          only from rank r - 1, where the rank after P - 1 is 0 (hence every "modulo P").
///   chunk  one of P contiguous parts of the buffer, chunk c being the c-th. One chunk per rank, so that at every
///          step every rank has one chunk to send while it receives another.
///   step   all ranks at once send one chunk and receive one. Reduce-scatter takes P - 1 steps, because each chunk
///          must visit the P - 1 ranks it has not seen; all-gather takes P - 1 more, because each finished chunk must
///          reach the P - 1 ranks that do not have it.
#include <cstdint>

namespace lockstep::ring {

/// Elements [begin, begin + count) of a buffer.
struct Chunk {
  std::int64_t begin = 0;
  std::int64_t count = 0;  ///< Elements; may be 0.
};

/// Chunk `index` of `total` elements cut into `world_size` chunks whose counts differ by at most 1: the first
/// `total % world_size` chunks hold one element more. If total < world_size, some chunks are empty.
[[nodiscard]] constexpr Chunk chunk_of(std::int64_t total, int index, int world_size) noexcept {
  const std::int64_t smaller_count = total / world_size;
  const std::int64_t larger_chunks = total % world_size;
  const std::int64_t larger_before = index < larger_chunks ? index : larger_chunks;
  return {index * smaller_count + larger_before, smaller_count + (index < larger_chunks ? 1 : 0)};
}

/// `value` modulo world_size, in [0, world_size) for negative values too (C++'s % keeps the sign).
[[nodiscard]] constexpr int wrap(int value, int world_size) noexcept {
  return (value % world_size + world_size) % world_size;
}

/// The neighbour that `rank` sends to.
[[nodiscard]] constexpr int next_of(int rank, int world_size) noexcept { return wrap(rank + 1, world_size); }
/// The neighbour that `rank` receives from.
[[nodiscard]] constexpr int previous_of(int rank, int world_size) noexcept { return wrap(rank - 1, world_size); }

/// Reduce-scatter, step 0 .. P-2: the chunk that `rank` sends. It begins with the chunk of its own number and then
/// passes on the chunk received in the step before, which is always one chunk further back.
[[nodiscard]] constexpr int reduce_scatter_sends(int rank, int step, int world_size) noexcept {
  return wrap(rank - step, world_size);
}

/// The chunk that `rank` receives: the one that the rank before it sends in the same step.
[[nodiscard]] constexpr int reduce_scatter_receives(int rank, int step, int world_size) noexcept {
  return reduce_scatter_sends(rank - 1, step, world_size);
}

/// The chunk that `rank` holds complete after reduce-scatter: the one received in the last step, P - 2. That is
/// (rank - 1 - (P - 2)) modulo P = rank + 1 modulo P.
[[nodiscard]] constexpr int finished_chunk_of(int rank, int world_size) noexcept { return wrap(rank + 1, world_size); }

/// All-gather, step 0 .. P-2: the chunk that `rank` sends. It begins with the finished chunk and then passes on the one
/// received in the step before.
[[nodiscard]] constexpr int all_gather_sends(int rank, int step, int world_size) noexcept {
  return wrap(finished_chunk_of(rank, world_size) - step, world_size);
}

/// The chunk that `rank` receives in all-gather step `step`.
[[nodiscard]] constexpr int all_gather_receives(int rank, int step, int world_size) noexcept {
  return all_gather_sends(rank - 1, step, world_size);
}

}  // namespace lockstep::ring
