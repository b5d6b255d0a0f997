// Mistakes inside kernels, as public bug reports describe them; each program is written anew and holds nothing else.
// `// program: name` begins one; check_planted explains the markers.
#include "../suite.cuh"
#include "device/tensor_core.hpp"

// program: tile_reloaded
// https://github.com/ORNL/HeCBench/issues/253: no barrier between the last use of a tile and the next tile's loads.
namespace tile_reloaded {

__global__ void nearest(const float* points, int count, float* out) {
  __shared__ float tile[64];
  float best = 1e9F;
  for (int first = 0; first < count; first += 64) {
    tile[threadIdx.x] = points[first + threadIdx.x];  // BUG: race
    __syncthreads();
    for (int i = 0; i < 64; ++i) best = fminf(best, fabsf(tile[i] - threadIdx.x));
  }
  out[threadIdx.x] = best;
}

int run() {
  suite::Array<float> points(suite::pattern<float>(128)), out(64);
  nearest<<<1, 64>>>(points.get(), 128, out.get());
  return suite::verdict(out.host()[0] >= 0);
}

}  // namespace tile_reloaded

// program: total_unpublished
// https://github.com/ORNL/HeCBench/issues/254: one thread writes a shared total, all read it, no barrier between.
namespace total_unpublished {

__global__ void shares(const int* counts, float* out) {
  __shared__ int total;
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < 128; ++i) sum += counts[i];
    total = sum;  // BUG: race
  }
  out[threadIdx.x] = static_cast<float>(counts[threadIdx.x]) / total;
}

int run() {
  suite::Array<int> counts(std::vector<int>(128, 1));
  suite::Array<float> out(128);
  shares<<<1, 128>>>(counts.get(), out.get());
  return suite::verdict(out.host()[0] > 0);
}

}  // namespace total_unpublished

// program: warp_tail_without_syncwarp
// https://github.com/ORNL/HeCBench/issues/91: lanes exchange through volatile shared memory and never meet.
namespace warp_tail_without_syncwarp {

__device__ void warp_reduce(volatile float* s, int t) {
  s[t] = s[t] + s[t + 32];
  s[t] = s[t] + s[t + 16];  // BUG: race
  s[t] = s[t] + s[t + 8];   // BUG: race
  s[t] = s[t] + s[t + 4];   // BUG: race
  s[t] = s[t] + s[t + 2];   // BUG: race
  s[t] = s[t] + s[t + 1];   // BUG: race
}

__global__ void sum(const float* in, float* out) {
  __shared__ float part[64];
  part[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) warp_reduce(part, threadIdx.x);
  if (threadIdx.x == 0) *out = part[0];
}

int run() {
  suite::Array<float> in(suite::pattern<float>(64)), out(1);
  sum<<<1, 64>>>(in.get(), out.get());
  return suite::verdict(out.host()[0] > 0);
}

}  // namespace warp_tail_without_syncwarp

// program: transpose_in_place
// https://github.com/opencv/opencv/pull/28686: the square matrix is its own target, and loads may follow stores.
namespace transpose_in_place {

__global__ void transpose(float* a) {
  const unsigned x = threadIdx.x, y = threadIdx.y;
  a[x * 16 + y] = a[y * 16 + x];  // BUG: race
}

int run() {
  suite::Array<float> a(suite::pattern<float>(256));
  transpose<<<1, dim3(16, 16)>>>(a.get());
  return suite::verdict(a.host()[0] == 3);
}

}  // namespace transpose_in_place

// program: scratch_of_two_reductions
// https://github.com/NVIDIA/Fuser/pull/489: two reductions share scratch memory, no barrier between.
namespace scratch_of_two_reductions {

__device__ float block_sum(float value, float* scratch) {
  for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(0xffffffffU, value, d);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;  // BUG: race
  __syncthreads();
  return scratch[0] + scratch[1];
}

__global__ void moments(const float* in, float* out) {
  __shared__ float scratch[2];
  const float x = in[threadIdx.x];
  const float sum = block_sum(x, scratch);
  const float squares = block_sum(x * x, scratch);
  if (threadIdx.x == 0) *out = squares / sum;
}

int run() {
  suite::Array<float> in(suite::pattern<float>(64)), out(1);
  moments<<<1, 64>>>(in.get(), out.get());
  return suite::verdict(out.host()[0] > 0);
}

}  // namespace scratch_of_two_reductions

// program: barrier_for_some
// https://github.com/acts-project/acts/pull/307: the barrier is inside a condition on the thread's number.
namespace barrier_for_some {

__global__ void shift(const float* in, float* out, int count) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  if (i < count) {
    tile[i] = in[i];
    __syncthreads();                 // BUG: divergent barrier
    out[i] = tile[(i + 1) % count];  // ALSO: race
  }
  tile[i] = 0;
  __syncthreads();  // BUG: divergent barrier
}

int run() {
  suite::Array<float> in(suite::pattern<float>(64)), out(64);
  shift<<<1, 64>>>(in.get(), out.get(), 40);
  return suite::verdict(out.host()[0] == 10);
}

}  // namespace barrier_for_some

// program: halo_of_the_last_block
// https://github.com/dlsys-course/examples/issues/1: in the last, partly filled block nobody loads the right halo.
namespace halo_of_the_last_block {

__global__ void window_sum(const float* in, float* out, int count) {
  __shared__ float tile[64 + 2 * 3];
  const int i = blockIdx.x * 64 + threadIdx.x, at = threadIdx.x + 3;
  if (i < count) {
    tile[at] = in[i + 3];
    if (threadIdx.x < 3) {
      tile[at - 3] = in[i];
      if (i + 67 < count + 6) tile[at + 64] = in[i + 67];
    }
  }
  __syncthreads();
  if (i >= count) return;
  float sum = 0;
  for (int d = -3; d <= 3; ++d) sum += tile[at + d];  // BUG: uninitialised read
  out[i] = sum;
}

int run() {
  suite::Array<float> in(suite::pattern<float>(106)), out(100);
  window_sum<<<2, 64>>>(in.get(), out.get(), 100);
  return suite::verdict(out.host()[0] > 0);
}

}  // namespace halo_of_the_last_block

// program: one_past_the_end
// https://github.com/paradigms-of-intelligence/cubff/pull/54: `>` in the guard where `>=` is meant.
namespace one_past_the_end {

__global__ void count_zeros(const int* programs, int* zeros, int count) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i > count) return;
  if (programs[i] == 0) atomicAdd(zeros, 1);  // BUG: access out of bounds
}

int run() {
  suite::Array<int> programs(suite::pattern<int>(100)), zeros(std::vector<int>{0});
  count_zeros<<<2, 64>>>(programs.get(), zeros.get(), 100);
  return suite::verdict(zeros.host()[0] > 0);
}

}  // namespace one_past_the_end

// program: kernel_without_count
// https://github.com/risc0/risc0/issues/3803: the grid is rounded up; the kernel has no guard.
namespace kernel_without_count {

__global__ void zeroize(unsigned* values) {
  unsigned& value = values[blockIdx.x * 64 + threadIdx.x];
  if (value == 0xffffffffU) value = 0;  // BUG: access out of bounds
}

int run() {
  suite::Array<unsigned> values(suite::pattern<unsigned>(90));
  zeroize<<<2, 64>>>(values.get());
  return suite::verdict(values.host()[0] == 3);
}

}  // namespace kernel_without_count

// program: warp_totals_overrun
// https://github.com/xlite-dev/LeetCUDA/issues/409: 32 lanes read an array of 8 partial results.
namespace warp_totals_overrun {

__global__ void maximum(const float* in, float* out) {
  __shared__ float totals[8];
  float value = in[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, d));
  if (threadIdx.x % 32 == 0) totals[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  float all = totals[threadIdx.x];  // BUG: access out of bounds
  for (int d = 4; d > 0; d /= 2) all = fmaxf(all, __shfl_xor_sync(0xffffffffU, all, d));
  if (threadIdx.x == 0) *out = all;
}

int run() {
  suite::Array<float> in(suite::pattern<float>(256)), out(1);
  maximum<<<1, 256>>>(in.get(), out.get());
  return suite::verdict(out.host()[0] == 10);
}

}  // namespace warp_totals_overrun

// program: gather_index_overflows
// https://github.com/microsoft/onnxruntime/issues/28107: row 240000 of a table with 8960 columns, in 32 bits.
namespace gather_index_overflows {

constexpr int kColumns = 8960;

__global__ void gather(const signed char* table, const int* rows, signed char* out) {
  const int column = threadIdx.x;
  const int at = rows[blockIdx.x] * kColumns + column;  // BUG: integer overflow
  out[blockIdx.x * 32 + column] = table[at];
}

int run() {
  suite::Array<signed char> table(std::size_t{240001} * kColumns), out(32);
  suite::Array<int> rows(std::vector<int>{240000});
  CHECK(cudaMemset(table.get() + std::size_t{240000} * kColumns, 1, kColumns));
  gather<<<1, 32>>>(table.get(), rows.get(), out.get());
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace gather_index_overflows

// program: row_wraps_to_another
// https://github.com/microsoft/onnxruntime/issues/32299: the product wraps to another, valid row.
namespace row_wraps_to_another {

__global__ void last_of_row(const signed char* scores, int row, int stride, signed char* out) {
  scores += row * stride;  // BUG: integer overflow
  out[threadIdx.x] = scores[threadIdx.x];
}

int run() {
  constexpr std::size_t kStride = 65536;
  suite::Array<signed char> scores((kStride + 1) * kStride), out(32);
  CHECK(cudaMemset(scores.get(), 1, kStride));
  CHECK(cudaMemset(scores.get() + kStride * kStride, 2, kStride));
  last_of_row<<<1, 32>>>(scores.get(), 65536, 65536, out.get());
  return suite::verdict(out.host()[0] == 2);
}

}  // namespace row_wraps_to_another

// program: blocks_without_atomics
// https://github.com/ComputationalRadiationPhysics/picongpu/pull/2231: atomic in a block, plain between them.
namespace blocks_without_atomics {

__global__ void histogram(const int* in, int* bins) {
  __shared__ int own[11];
  if (threadIdx.x < 11) own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[in[blockIdx.x * 64 + threadIdx.x]], 1);
  __syncthreads();
  if (threadIdx.x < 11) bins[threadIdx.x] += own[threadIdx.x];  // BUG: race
}

int run() {
  suite::Array<int> in(suite::pattern<int>(256)), bins(std::vector<int>(11, 0));
  histogram<<<4, 64>>>(in.get(), bins.get());
  return suite::verdict(bins.host()[3] > 0);
}

}  // namespace blocks_without_atomics

// program: mask_of_the_lower_half
// https://github.com/sgl-project/sglang/pull/9620: both halves of a warp use the lower half's mask.
namespace mask_of_the_lower_half {

__global__ void group_maximum(float* values) {
  float value = values[threadIdx.x];
  for (int d = 8; d > 0; d /= 2) {
    const float other = __shfl_xor_sync(0xffffU, value, d);  // BUG: wrong mask
    value = fmaxf(value, other);
  }
  values[threadIdx.x] = value;
}

int run() {
  suite::Array<float> values(suite::pattern<float>(32));
  group_maximum<<<1, 32>>>(values.get());
  CHECK(cudaGetLastError());
  return suite::verdict(values.host()[0] > 0);
}

}  // namespace mask_of_the_lower_half

// program: caller_outside_its_mask
// https://github.com/brucefan1983/CUDA-Programming/pull/51: lane 0 calls with a mask that leaves it out.
namespace caller_outside_its_mask {

__global__ void votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const unsigned others = __ballot_sync(0xffffffffU, lane > 0);
  out[lane] = __ballot_sync(others, lane == 0);  // BUG: wrong mask
}

int run() {
  suite::Array<unsigned> out(32);
  votes<<<1, 32>>>(out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[1] == 0);
}

}  // namespace caller_outside_its_mask

// program: barrier_taken_for_wait
// https://github.com/NVIDIA/Fuser/pull/3438: __syncthreads() does not wait for cp.async.
namespace barrier_taken_for_wait {

__global__ void scale(const float* in, const float* factors, float* out) {
  __shared__ alignas(16) float row[128];
  if (threadIdx.y == 0) {
    lockstep::device::cp_async16(row + 4 * threadIdx.x, factors + 4 * threadIdx.x);
    lockstep::device::cp_async_commit();
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 128; i += 32) {
    out[threadIdx.y * 128 + i] = in[threadIdx.y * 128 + i] * row[i];  // BUG: missing wait for cp.async
  }
}

int run() {
  suite::Array<float> in(suite::pattern<float>(256)), factors(suite::pattern<float>(128)), out(256);
  scale<<<1, dim3(32, 2)>>>(in.get(), factors.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] >= 0);
}

}  // namespace barrier_taken_for_wait

// program: one_operand_single_buffered
// https://github.com/triton-lang/triton/pull/3106: the loop is pipelined, but only one of two operands has two buffers.
namespace one_operand_single_buffered {

__global__ void dot(const float* a, const float* b, int tiles, float* out) {
  __shared__ float left[2][64], right[64];
  const int i = threadIdx.x;
  left[0][i] = a[i];
  right[i] = b[i];
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    const float next = tile + 1 < tiles ? b[(tile + 1) * 64 + i] : 0;
    if (tile + 1 < tiles) left[(tile + 1) % 2][i] = a[(tile + 1) * 64 + i];
    sum += left[tile % 2][63 - i] * right[63 - i];
    right[i] = next;  // BUG: race
  }
  out[i] = sum;
}

int run() {
  suite::Array<float> a(suite::pattern<float>(256)), b(suite::pattern<float>(256)), out(64);
  dot<<<1, 64>>>(a.get(), b.get(), 4, out.get());
  return suite::verdict(out.host()[0] > 0);
}

}  // namespace one_operand_single_buffered

// program: padding_of_the_mask
// https://github.com/NVIDIA/cudf/issues/8873: the mask is allocated with padding; the kernel reads it, nobody wrote it.
namespace padding_of_the_mask {

__global__ void count_valid(const unsigned* mask, int words, int* count) {
  const int i = threadIdx.x;
  if (i < words) atomicAdd(count, __popc(mask[i]));  // BUG: uninitialised read
}

int run() {
  suite::Array<unsigned> mask(16);
  suite::Array<int> count(std::vector<int>{0});
  CHECK(cudaMemset(mask.get(), 0xff, 10 * sizeof(unsigned)));
  count_valid<<<1, 32>>>(mask.get(), 16, count.get());
  return suite::verdict(count.host()[0] >= 320);
}

}  // namespace padding_of_the_mask

// program: elements_taken_for_bytes
// https://github.com/bokesyo/CSC4005_2022Fall_Demo/issues/31: cudaMalloc is given the number of bodies.
namespace elements_taken_for_bytes {

__global__ void move(double* x, const double* v, int bodies) {
  const int i = threadIdx.x;
  if (i < bodies) x[i] += v[i];  // BUG: access out of bounds
}

int run() {
  const std::vector<double> values = suite::pattern<double>(64);
  double *x = nullptr, *v = nullptr;
  CHECK(cudaMalloc(&x, 64));
  CHECK(cudaMalloc(&v, 64));
  CHECK(cudaMemcpy(x, values.data(), 64, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(v, values.data(), 64, cudaMemcpyHostToDevice));
  move<<<1, 64>>>(x, v, 64);
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace elements_taken_for_bytes

// program: member_of_a_host_object
// https://github.com/LLNL/RAJA/issues/799: the kernel follows a pointer to an object of the host.
namespace member_of_a_host_object {

struct Vector {
  float* data;
  float constant;
};

__global__ void set_to_constant(const Vector* vector) {
  vector->data[threadIdx.x] = vector->constant;  // BUG: host pointer
}

int run() {
  suite::Array<float> data(32);
  Vector vector{data.get(), 2};
  set_to_constant<<<1, 32>>>(&vector);
  CHECK(cudaDeviceSynchronize());
  return suite::verdict(true);
}

}  // namespace member_of_a_host_object

// program: fifteen_hundred_threads
// https://github.com/eyalroz/cuda-api-wrappers/issues/545: too many threads, errors not checked.
namespace fifteen_hundred_threads {

__global__ void number(int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = i;
}

int run() {
  suite::Array<int> out(std::vector<int>(2048, 0));
  number<<<2, 1500>>>(out.get(), 2048);  // BUG: bad launch
  return suite::verdict(out.host()[0] == 0);
}

}  // namespace fifteen_hundred_threads
