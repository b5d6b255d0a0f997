// Cooperative groups: tiles, active lanes, partitions, and grids whose blocks wait for one another.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "courses.cuh"

namespace cg = cooperative_groups;
using courses::blocks_for;
using courses::is_equal;
using suite::Array;
using suite::pattern;

static int sum_of(const std::vector<int>& values) {
  int sum = 0;
  for (int value : values) sum += value;
  return sum;
}

static __global__ void sum_with_tiles(const int* in, int* total, int n) {
  __shared__ int sums[8];
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int sum = 0;
  for (int i = blockIdx.x * block.size() + block.thread_rank(); i < n; i += gridDim.x * block.size()) sum += in[i];
  for (int offset = warp.size() / 2; offset > 0; offset /= 2) sum += warp.shfl_down(sum, offset);
  if (warp.thread_rank() == 0) sums[warp.meta_group_rank()] = sum;
  cg::sync(block);
  if (warp.meta_group_rank() == 0) {
    sum = warp.thread_rank() < warp.meta_group_size() ? sums[warp.thread_rank()] : 0;
    sum = cg::reduce(warp, sum, cg::plus<int>());
    if (warp.thread_rank() == 0) atomicAdd(total, sum);
  }
}

PROGRAM(sum_by_tiles) {
  const int n = 3000;
  std::vector<int> values = pattern<int>(n);
  Array<int> in(values), total(1);
  total.clear();
  sum_with_tiles<<<3, 256>>>(in.get(), total.get(), n);
  return total.host()[0] == sum_of(values);
}

// As the first sample of the toolkit: a function that takes any group.
static __device__ int sum_of_group(cg::thread_group g, int* x, int value) {
  const int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    x[lane] = value;
    g.sync();
    if (lane < i) value += x[lane + i];
    g.sync();
  }
  return g.thread_rank() == 0 ? value : -1;
}

static __global__ void sums_of_groups(int* out) {
  extern __shared__ int workspace[];
  cg::thread_block block = cg::this_thread_block();
  int sum = sum_of_group(block, workspace, block.thread_rank());
  if (block.thread_rank() == 0) out[0] = sum;
  block.sync();
  cg::thread_group tile = cg::tiled_partition(block, 16);
  const int offset = block.thread_rank() - tile.thread_rank();
  sum = sum_of_group(tile, workspace + offset, tile.thread_rank());
  if (tile.thread_rank() == 0) out[1 + block.thread_rank() / 16] = sum;
}

PROGRAM(groups_of_any_kind) {
  Array<int> out(5);
  sums_of_groups<<<1, 64, 64 * sizeof(int)>>>(out.get());
  return out.host() == std::vector<int>{2016, 120, 120, 120, 120};
}

static __device__ int atomic_add_of_group(int* counter) {
  cg::coalesced_group active = cg::coalesced_threads();
  int first = 0;
  if (active.thread_rank() == 0) first = atomicAdd(counter, active.size());
  return active.shfl(first, 0) + active.thread_rank();
}

static __global__ void keep_positive(const int* in, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 4) out[atomic_add_of_group(count)] = in[i];
}

PROGRAM(filter_with_active_lanes) {
  const int n = 700;
  std::vector<int> values = pattern<int>(n), expected;
  for (int value : values) {
    if (value > 4) expected.push_back(value);
  }
  Array<int> in(values), out(n), count(1);
  count.clear();
  CHECK(cudaMemset(out.get(), 0, n * sizeof(int)));
  keep_positive<<<blocks_for(n, 128), 128>>>(in.get(), out.get(), count.get(), n);
  std::vector<int> kept = out.host();
  kept.resize(count.host()[0]);
  std::sort(kept.begin(), kept.end());
  std::sort(expected.begin(), expected.end());
  return kept == expected;
}

static __global__ void odd_and_even(const int* in, int* odd, int* sums) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  int value = in[block.thread_rank()];
  auto part = cg::binary_partition(tile, value & 1);
  int sum = cg::reduce(part, value, cg::plus<int>());
  if (part.thread_rank() == 0) {
    atomicAdd(&sums[value & 1], sum);
    if (value & 1) atomicAdd(odd, part.num_threads());
  }
}

PROGRAM(partition_by_predicate) {
  const int n = 96;
  std::vector<int> values = pattern<int>(n), expected(2);
  int odds = 0;
  for (int value : values) {
    expected[value & 1] += value;
    odds += value & 1;
  }
  Array<int> in(values), odd(1), sums(2);
  odd.clear();
  sums.clear();
  odd_and_even<<<1, n>>>(in.get(), odd.get(), sums.get());
  return sums.host() == expected && odd.host()[0] == odds;
}

static __global__ void tile_functions(int* wrong) {
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<8>(warp);
  int rank = tile.thread_rank(), lane = threadIdx.x % 32;
  bool is_right = rank == lane % 8 && tile.meta_group_rank() == lane / 8 && tile.meta_group_size() == 4;
  is_right &= tile.shfl(lane, 3) == lane - rank + 3 && tile.shfl_xor(lane, 1) == (lane ^ 1);
  is_right &=
      tile.shfl_up(lane, 2) == (rank < 2 ? lane : lane - 2) && tile.shfl_down(lane, 7) == (rank == 0 ? lane + 7 : lane);
  is_right &= tile.ballot(rank % 2) == 0xaa && tile.any(rank == 7) && !tile.all(rank == 7);
  is_right &= tile.match_any(rank / 4) == (rank < 4 ? 0x0f : 0xf0);
  is_right &= cg::inclusive_scan(tile, rank) == rank * (rank + 1) / 2;
  is_right &= cg::exclusive_scan(warp, 2, cg::plus<int>()) == 2 * lane;
  is_right &= cg::reduce(tile, lane, cg::greater<int>()) == (lane | 7) &&
              cg::reduce(tile, lane, cg::less<int>()) == (lane & ~7);
  is_right &= cg::reduce(warp, 1u << lane, cg::bit_or<unsigned>()) == ~0u;
  is_right &= cg::reduce(tile, 1.5f, [](float a, float b) { return a * b; }) > 25.6f;
  double2 pair = make_double2(lane, -lane);
  pair = tile.shfl(pair, 0);
  is_right &= pair.x == lane - rank && pair.y == rank - lane;
  auto labels = cg::labeled_partition(warp, lane % 3);
  is_right &= labels.size() == (lane % 3 < 2 ? 11 : 10) && labels.thread_rank() == lane / 3;
  if (!is_right) atomicAdd(wrong, 1);
}

PROGRAM(functions_of_tiles) {
  Array<int> wrong(1);
  wrong.clear();
  tile_functions<<<2, 64>>>(wrong.get());
  return wrong.host()[0] == 0;
}

static __global__ void copy_by_group(const float* in, float* out, int tiles) {
  __shared__ alignas(16) float staged[2][64];
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, staged[0], in, sizeof(float) * 64);
  for (int tile = 0; tile < tiles; tile++) {
    if (tile + 1 < tiles) {
      cg::memcpy_async(block, staged[(tile + 1) % 2], in + (tile + 1) * 64, sizeof(float) * 64);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    out[tile * 64 + block.thread_rank()] = staged[tile % 2][63 - block.thread_rank()];
    block.sync();
  }
}

PROGRAM(copies_by_groups) {
  const int tiles = 5;
  std::vector<float> values = pattern<float>(64 * tiles), expected;
  for (int tile = 0; tile < tiles; tile++) {
    for (int i = 0; i < 64; i++) expected.push_back(values[tile * 64 + 63 - i]);
  }
  Array<float> in(values), out(values.size());
  copy_by_group<<<1, 64>>>(in.get(), out.get(), tiles);
  return is_equal(out.host(), expected);
}

static __global__ void sum_in_one_launch(const int* in, int* out, unsigned n) {
  extern __shared__ int sdata[];
  cg::thread_block block = cg::this_thread_block();
  cg::grid_group grid = cg::this_grid();
  sdata[block.thread_rank()] = 0;
  for (unsigned i = grid.thread_rank(); i < n; i += grid.size()) sdata[block.thread_rank()] += in[i];
  cg::sync(block);
  for (int stride = block.size() / 2; stride > 0; stride /= 2) {
    if (block.thread_rank() < stride) sdata[block.thread_rank()] += sdata[block.thread_rank() + stride];
    cg::sync(block);
  }
  if (block.thread_rank() == 0) out[blockIdx.x] = sdata[0];
  cg::sync(grid);
  if (grid.thread_rank() == 0) {
    for (int other = 1; other < gridDim.x; other++) out[0] += out[other];
  }
}

PROGRAM(sum_with_grid_barrier) {
  unsigned n = 20000;
  const int threads = 128;
  std::vector<int> values = pattern<int>(n);
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  if (!prop.cooperativeLaunch) return false;
  int per_multiprocessor = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, sum_in_one_launch, threads,
                                                      threads * sizeof(int)));
  const int blocks = min(per_multiprocessor * prop.multiProcessorCount, 40);
  Array<int> in(values), out(blocks);
  int *d_in = in.get(), *d_out = out.get();
  void* arguments[] = {(void*)&d_in, (void*)&d_out, (void*)&n};
  CHECK(cudaLaunchCooperativeKernel((void*)sum_in_one_launch, dim3(blocks), dim3(threads), arguments,
                                    threads * sizeof(int), NULL));
  CHECK(cudaDeviceSynchronize());
  return out.host()[0] == sum_of(values);
}

// Heat in a bar: every step reads what other blocks have written in the step before. Each block keeps a value in shared
// memory over all steps.
static __global__ void heat(float* a, float* b, int n, int steps, int* wrong) {
  __shared__ int own;
  cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) own = blockIdx.x;
  int i = grid.thread_rank();
  float kept = i;
  for (int step = 0; step < steps; step++) {
    if (i > 0 && i < n - 1) b[i] = 0.5f * (a[i - 1] + a[i + 1]);
    grid.sync();
    float* swap = a;
    a = b;
    b = swap;
  }
  if (own != blockIdx.x || kept != i) atomicAdd(wrong, 1);
}

PROGRAM(heat_with_grid_barriers) {
  int n = 200, steps = 9;
  std::vector<float> values = pattern<float>(n), next = values;
  Array<float> a(values), b(values);
  Array<int> wrong(1);
  wrong.clear();
  float *d_a = a.get(), *d_b = b.get();
  int* d_wrong = wrong.get();
  for (int step = 0; step < steps; step++) {
    for (int i = 1; i < n - 1; i++) next[i] = 0.5f * (values[i - 1] + values[i + 1]);
    std::swap(values, next);
  }
  void* arguments[] = {&d_a, &d_b, &n, &steps, &d_wrong};
  CHECK(cudaLaunchCooperativeKernel(heat, dim3(blocks_for(n, 32)), dim3(32), arguments));
  CHECK(cudaDeviceSynchronize());
  return is_equal(b.host(), values) && wrong.host()[0] == 0;
}

static __global__ void read_neighbours(float* a, float* b, bool is_ordered) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank(), n = grid.size();
  a[i] = i;
  grid.sync();
  b[i] = a[(i + 32) % n];
  if (is_ordered) grid.sync();
  a[i] = b[(i + 32) % n];  // written by another block
}

static bool run_read_neighbours(bool is_ordered) {
  Array<float> a(64), b(64);
  float *d_a = a.get(), *d_b = b.get();
  void* arguments[] = {&d_a, &d_b, &is_ordered};
  CHECK(cudaLaunchCooperativeKernel((void*)read_neighbours, dim3(2), dim3(32), arguments));
  CHECK(cudaDeviceSynchronize());
  return !is_ordered || a.host()[40] == 40;
}

PROGRAM(neighbours_with_grid_barriers) { return run_read_neighbours(true); }

PROGRAM(fails_missing_grid_barrier) { return run_read_neighbours(false); }

static __global__ void leaves_others_alone(int blocks) {
  if (blockIdx.x < blocks) cg::this_grid().sync();
}

PROGRAM(fails_grid_barrier_of_some_blocks) {
  int blocks = 2;
  void* arguments[] = {&blocks};
  CHECK(cudaLaunchCooperativeKernel(leaves_others_alone, dim3(3), dim3(32), arguments));
  return cudaDeviceSynchronize() == cudaErrorLaunchFailure;
}

PROGRAM(fails_grid_barrier_without_cooperative_launch) {
  leaves_others_alone<<<3, 32>>>(3);
  return cudaDeviceSynchronize() == cudaErrorLaunchFailure;
}

PROGRAM(fails_cooperative_launch_too_large) {
  int blocks = 1;
  void* arguments[] = {&blocks};
  return cudaLaunchCooperativeKernel(leaves_others_alone, dim3(132 * 32 + 1), dim3(32), arguments) ==
         cudaErrorCooperativeLaunchTooLarge;
}
