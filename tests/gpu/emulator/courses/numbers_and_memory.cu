// Numbers of 16 and 8 bits, pitched and pooled memory, pipelines of copies, CUB's block primitives, graphs.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include <climits>
#include <cstdint>
#include <cub/cub.cuh>
#include <cuda/pipeline>

#include "courses.cuh"

namespace cg = cooperative_groups;
using courses::blocks_for;
using courses::is_equal;
using suite::Array;
using suite::pattern;

static __global__ void scalar_product(const half2* a, const half2* b, float* result, int count) {
  __shared__ half2 partial[128];
  half2 value = __float2half2_rn(0.f);
  for (int i = threadIdx.x; i < count; i += blockDim.x) value = __hfma2(a[i], b[i], value);
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int stride = 64; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) partial[threadIdx.x] = __hadd2(partial[threadIdx.x], partial[threadIdx.x + stride]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = __low2float(partial[0]) + __high2float(partial[0]);
}

PROGRAM(product_of_half_vectors) {
  const int count = 300;
  std::vector<half2> a, b;
  float expected = 0;
  for (int i = 0; i < count; i++) {
    a.push_back(__floats2half2_rn(i % 3, 1));
    b.push_back(__floats2half2_rn(i % 2, i % 5 - 2));
    expected += i % 3 * (i % 2) + i % 5 - 2;
  }
  Array<half2> d_a(a), d_b(b);
  Array<float> result(1);
  scalar_product<<<1, 128>>>(d_a.get(), d_b.get(), result.get(), count);
  return result.host()[0] == expected;
}

static __global__ void half_functions(const __half* x, __half* y, float* f) {
  __half a = x[0], b = x[1];
  y[0] = a * b + a;
  y[1] = __hsub(__hmul(a, b), __hdiv(a, b));
  y[2] = __hgt(a, b) ? hexp(b) : hsqrt(a);
  y[3] = __hmax(a, __hneg(b));
  __half2 pair = __halves2half2(a, b), turned = __lowhigh2highlow(pair);
  pair += turned;
  y[4] = __low2half(pair);
  y[5] = __hfma(a, b, __float2half(-0.5f));
  f[0] = __half2float(h2exp(__half2half2(b)).x);
  f[1] = __hbge2(pair, turned) ? 1.f : 0.f;
  f[2] = __half2int_rn(__float2half(2.5f)) + __half2int_rz(__float2half_rz(3.99f));
  f[3] = __float22half2_rn(make_float2(65519.f, 1e-8f)).x;  // the largest half; a little more is infinity
  atomicAdd((__half2*)(y + 6), __floats2half2_rn(1, 2));
  __nv_bfloat162 brain = __floats2bfloat162_rn(1.5f, 3), sum = __hfma2(brain, brain, brain);
  sum -= brain;
  f[4] = __low2float(sum) + __high2float(h2sqrt(sum));
}

PROGRAM(half_arithmetic) {
  std::vector<__half> x = {__float2half(3.f), __float2half(0.5f)};
  Array<__half> in(x), out(8);
  Array<float> floats(5);
  out.clear();
  half_functions<<<1, 1>>>(in.get(), out.get(), floats.get());
  std::vector<float> halves;
  for (__half each : out.host()) halves.push_back(__half2float(each));
  const float root = expf(0.5f);
  return is_equal(halves, {4.5f, -4.5f, __half2float(__float2half(root)), 3, 3.5f, 1, 1, 2}) &&
         is_equal(floats.host(), {__half2float(__float2half(root)), 1, 5, 65504, 2.25f + 3});
}

static __global__ void dot_of_bytes(const int* a, const int* b, int* out, int words) {
  int sum = 0;
  for (int i = threadIdx.x; i < words; i += 32) sum = __dp4a(a[i], b[i], sum);
  sum = __reduce_add_sync(0xffffffff, sum);
  if (threadIdx.x == 0) out[0] = sum;
  if (threadIdx.x == 0) out[1] = __dp4a(0xff020304u, 0x02010101u, 1u);
}

PROGRAM(dot_product_of_bytes) {
  const int words = 50;
  std::vector<int8_t> a, b;
  int expected = 0;
  for (int i = 0; i < 4 * words; i++) {
    a.push_back(i * 7 % 256 - 128);
    b.push_back(i * 13 % 256 - 128);
    expected += a.back() * b.back();
  }
  Array<int8_t> d_a(a), d_b(b);
  Array<int> out(2);
  dot_of_bytes<<<1, 32>>>((const int*)d_a.get(), (const int*)d_b.get(), out.get(), words);
  return out.host() == std::vector<int>{expected, 255 * 2 + 9 + 1};
}

static __global__ void square(int* values, int count) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < count) values[i] *= values[i];
}

PROGRAM(occupancy_chooses_the_block) {
  const int count = 2000;
  int block = 0, least_grid = 0, active = 0, device = 0;
  nvtxRangePushA("occupancy");
  CHECK(cudaProfilerStart());
  CHECK(cudaOccupancyMaxPotentialBlockSize(&least_grid, &block, square, 0, count));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&active, square, block, 0));
  CHECK(cudaGetDevice(&device));
  std::vector<int> values = pattern<int>(count), expected = values;
  for (int& value : expected) value *= value;
  Array<int> array(values);
  square<<<blocks_for(count, block), block>>>(array.get(), count);
  CHECK(cudaProfilerStop());
  nvtxRangePop();
  return array.host() == expected && active * block == 2048 && least_grid >= active && CUDA_VERSION >= 12000;
}

static __global__ void scale_rows(float* data, size_t pitch, int width, int height) {
  for (int r = blockIdx.x; r < height; r += gridDim.x) {
    float* row = (float*)((char*)data + r * pitch);
    for (int c = threadIdx.x; c < width; c += blockDim.x) row[c] = 2 * row[c] + r;
  }
}

PROGRAM(pitched_rows) {
  const int width = 33, height = 7;
  std::vector<float> values = pattern<float>(width * height), result(width * height), expected;
  for (int i = 0; i < width * height; i++) expected.push_back(2 * values[i] + i / width);
  float* data;
  size_t pitch;
  CHECK(cudaMallocPitch(&data, &pitch, width * sizeof(float), height));
  CHECK(cudaMemset2D(data, pitch, 0, width * sizeof(float), height));
  CHECK(cudaMemcpy2D(data, pitch, values.data(), width * sizeof(float), width * sizeof(float), height,
                     cudaMemcpyHostToDevice));
  scale_rows<<<3, 32>>>(data, pitch, width, height);
  CHECK(cudaMemcpy2DAsync(result.data(), width * sizeof(float), data, pitch, width * sizeof(float), height,
                          cudaMemcpyDeviceToHost, 0));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data));
  return pitch >= width * sizeof(float) && is_equal(result, expected);
}

static __global__ void add_volumes(cudaPitchedPtr a, cudaPitchedPtr b, int width, int height, int depth) {
  for (int z = 0; z < depth; z++) {
    char *slice_a = (char*)a.ptr + z * a.pitch * height, *slice_b = (char*)b.ptr + z * b.pitch * height;
    for (int y = threadIdx.y; y < height; y += blockDim.y) {
      float *row_a = (float*)(slice_a + y * a.pitch), *row_b = (float*)(slice_b + y * b.pitch);
      for (int x = threadIdx.x; x < width; x += blockDim.x) row_a[x] += row_b[x];
    }
  }
}

PROGRAM(volumes) {
  const int width = 9, height = 5, depth = 3, count = width * height * depth;
  std::vector<float> values = pattern<float>(count), result(count);
  cudaExtent extent = make_cudaExtent(width * sizeof(float), height, depth);
  cudaPitchedPtr a, b;
  CHECK(cudaMalloc3D(&a, extent));
  CHECK(cudaMalloc3D(&b, extent));
  CHECK(cudaMemset3D(b, 0, extent));
  cudaMemcpy3DParms copy = {0};
  copy.srcPtr = make_cudaPitchedPtr(values.data(), width * sizeof(float), width, height);
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  for (cudaPitchedPtr to : {a, b}) {
    copy.dstPtr = to;
    CHECK(cudaMemcpy3D(&copy));
  }
  add_volumes<<<1, dim3(8, 4)>>>(a, b, width, height, depth);
  cudaMemcpy3DParms back = {0};
  back.srcPtr = a;
  back.dstPtr = make_cudaPitchedPtr(result.data(), width * sizeof(float), width, height);
  back.extent = extent;
  back.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&back));
  CHECK(cudaFree(a.ptr));
  CHECK(cudaFree(b.ptr));
  for (float& value : values) value *= 2;
  return is_equal(result, values);
}

PROGRAM(stream_ordered_memory) {
  const int count = 1000;
  std::vector<int> values = pattern<int>(count), result(count), expected = values;
  for (int& value : expected) value *= value;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = ULONG_MAX, set = 0;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &set));
  for (int round = 0; round < 3; round++) {
    int* data;
    CHECK(cudaMallocAsync(&data, count * sizeof(int), stream));
    CHECK(cudaMemcpyAsync(data, values.data(), count * sizeof(int), cudaMemcpyHostToDevice, stream));
    square<<<blocks_for(count, 256), 256, 0, stream>>>(data, count);
    CHECK(cudaMemcpyAsync(result.data(), data, count * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
  }
  int* from_pool;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  CHECK(cudaMemPoolCreate(&pool, &properties));
  CHECK(cudaMallocFromPoolAsync(&from_pool, 4, pool, stream));
  CHECK(cudaMemsetAsync(from_pool, 0, 4, stream));
  CHECK(cudaFreeAsync(from_pool, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolTrimTo(pool, 0));
  CHECK(cudaMemPoolDestroy(pool));
  CHECK(cudaStreamDestroy(stream));
  return result == expected && set == threshold;
}

PROGRAM(launch_with_attributes) {
  const int count = 100;
  std::vector<int> values = pattern<int>(count), expected = values;
  for (int& value : expected) value *= value;
  Array<int> array(values);
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2);
  config.blockDim = dim3(64);
  config.attrs = attributes;
  config.numAttrs = 2;
  CHECK(cudaLaunchKernelEx(&config, square, array.get(), count));
  return array.host() == expected;
}

#define BK 8

static __global__ void multiply_double_buffered(const float* a, const float* b, float* c, int n) {
  __shared__ float as[2][16][BK], bs[2][BK][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  auto load = [&](int buffer, int k0) {
    if (tx < BK) __pipeline_memcpy_async(&as[buffer][ty][tx], &a[row * n + k0 + tx], sizeof(float));
    if (ty < BK) __pipeline_memcpy_async(&bs[buffer][ty][tx], &b[(k0 + ty) * n + column], sizeof(float));
    __pipeline_commit();
  };
  load(0, 0);
  float sum = 0;
  int buffer = 0;
  for (int k0 = 0; k0 < n; k0 += BK) {
    if (k0 + BK < n) {
      load(buffer ^ 1, k0 + BK);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    for (int k = 0; k < BK; k++) sum += as[buffer][ty][k] * bs[buffer][k][tx];
    __syncthreads();
    buffer ^= 1;
  }
  c[row * n + column] = sum;
}

PROGRAM(product_with_double_buffer) {
  const int n = 32;
  std::vector<float> a = pattern<float>(n * n), expected(n * n);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      for (int k = 0; k < n; k++) expected[i * n + j] += a[i * n + k] * a[k * n + j];
    }
  }
  Array<float> in(a), out(n * n);
  multiply_double_buffered<<<dim3(2, 2), dim3(16, 16)>>>(in.get(), in.get(), out.get(), n);
  return is_equal(out.host(), expected);
}

template <int Stages>
static __global__ void pipelined_sums(const int* in, int* out, int batches) {
  __shared__ int staged[Stages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int compute = 0, fetch = 0; compute < batches; compute++) {
    for (; fetch < batches && fetch < compute + Stages; fetch++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, staged[fetch % Stages], in + fetch * 64, sizeof(int) * 64, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += staged[compute % Stages][63 - block.thread_rank()];
    pipe.consumer_release();
  }
  out[block.thread_rank()] = sum;
}

static __global__ void own_pipeline(const int* in, int* out) {
  __shared__ int staged[64];
  cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&staged[threadIdx.x], &in[threadIdx.x], sizeof(int), pipe);
  pipe.producer_commit();
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  out[threadIdx.x] = staged[threadIdx.x] + 1;
  pipe.consumer_release();
}

PROGRAM(pipelines) {
  const int batches = 7;
  std::vector<int> values = pattern<int>(64 * batches), expected(64), next(64);
  for (int batch = 0; batch < batches; batch++) {
    for (int i = 0; i < 64; i++) expected[i] += values[batch * 64 + 63 - i];
  }
  Array<int> in(values), out(64), own(64);
  pipelined_sums<2><<<1, 64>>>(in.get(), out.get(), batches);
  bool is_right = out.host() == expected;
  pipelined_sums<3><<<1, 64>>>(in.get(), out.get(), batches);
  own_pipeline<<<1, 64>>>(in.get(), own.get());
  for (int i = 0; i < 64; i++) next[i] = values[i] + 1;
  return is_right && out.host() == expected && own.host() == next;
}

template <int Threads>
static __global__ void block_primitives(const int* in, int* sums, int* scanned, int* warps) {
  typedef cub::BlockReduce<int, Threads> BlockReduce;
  using BlockScan = cub::BlockScan<int, Threads>;
  using WarpReduce = cub::WarpReduce<int>;
  __shared__ union {
    typename BlockReduce::TempStorage reduce;
    typename BlockScan::TempStorage scan;
  } storage;
  __shared__ typename WarpReduce::TempStorage warp_storage[Threads / 32];
  int value = in[threadIdx.x];
  int sum = BlockReduce(storage.reduce).Sum(value);
  __syncthreads();
  int largest = BlockReduce(storage.reduce).Reduce(value, [](int a, int b) { return a > b ? a : b; });
  __syncthreads();
  int some = BlockReduce(storage.reduce).Sum(value, 10);
  __syncthreads();
  int before, total, items[2] = {value, 1}, upto[2];
  BlockScan(storage.scan).ExclusiveSum(value, before, total);
  __syncthreads();
  BlockScan(storage.scan).InclusiveSum(items, upto);
  scanned[threadIdx.x] = before;
  scanned[Threads + threadIdx.x] = upto[1];
  if (threadIdx.x == 0) {
    sums[0] = sum;
    sums[1] = largest;
    sums[2] = some;
    sums[3] = total;
  }
  int warp = threadIdx.x / 32, warp_sum = WarpReduce(warp_storage[warp]).Sum(value);
  if (threadIdx.x % 32 == 0) warps[warp] = warp_sum;
}

PROGRAM(primitives_of_cub) {
  const int threads = 96;
  std::vector<int> values = pattern<int>(threads), scanned(2 * threads), warps(3);
  int sum = 0, some = 0;
  for (int i = 0; i < threads; i++) {
    scanned[i] = sum;
    sum += values[i];
    scanned[threads + i] = sum + i + 1;
    if (i < 10) some += values[i];
    warps[i / 32] += values[i];
  }
  Array<int> in(values), d_sums(4), d_scanned(2 * threads), d_warps(3);
  block_primitives<threads><<<1, threads>>>(in.get(), d_sums.get(), d_scanned.get(), d_warps.get());
  return d_sums.host() == std::vector<int>{sum, 10, some, sum} && d_scanned.host() == scanned &&
         d_warps.host() == warps;
}

static __global__ void add_to(int* values, int count, int summand) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < count) values[i] += summand;
}

PROGRAM(captured_steps) {
  const int count = 300, rounds = 5;
  std::vector<int> values = pattern<int>(count), result(count), expected = values;
  for (int& value : expected) value += rounds * 3;
  Array<int> array(values);
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t instance = NULL;
  CHECK(cudaStreamCreate(&stream));
  for (int round = 0; round < rounds; round++) {
    if (instance == NULL) {
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      for (int step = 0; step < 3; step++) add_to<<<blocks_for(count, 128), 128, 0, stream>>>(array.get(), count, 1);
      CHECK(cudaMemcpyAsync(result.data(), array.get(), count * sizeof(int), cudaMemcpyDeviceToHost, stream));
      CHECK(cudaStreamEndCapture(stream, &graph));
      CHECK(cudaGraphInstantiate(&instance, graph, NULL, NULL, 0));
    }
    CHECK(cudaGraphLaunch(instance, stream));
    CHECK(cudaStreamSynchronize(stream));
  }
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
  CHECK(cudaGraphExecDestroy(instance));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  return result == expected && nodes == 4;
}

PROGRAM(captured_branches) {
  const int count = 256;
  Array<int> a(count), b(count);
  cudaStream_t main_stream, side;
  cudaEvent_t fork, join;
  CHECK(cudaStreamCreate(&main_stream));
  CHECK(cudaStreamCreate(&side));
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  cudaGraphExec_t instance;
  for (int summand : {5, 7}) {  // captured twice: the second time only the arguments differ
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(a.get(), 0, count * sizeof(int), main_stream));
    CHECK(cudaEventRecord(fork, main_stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    CHECK(cudaMemsetAsync(b.get(), 0, count * sizeof(int), side));
    add_to<<<2, 128, 0, side>>>(b.get(), count, summand);
    add_to<<<2, 128, 0, main_stream>>>(a.get(), count, 1);
    CHECK(cudaEventRecord(join, side));
    CHECK(cudaStreamWaitEvent(main_stream, join, 0));
    add_to<<<2, 128, 0, main_stream>>>(b.get(), count, 10);
    CHECK(cudaStreamEndCapture(main_stream, &graph));
    if (summand == 5) {
      CHECK(cudaGraphInstantiate(&instance, graph, 0));
    } else {
      cudaGraphExecUpdateResultInfo info;
      CHECK(cudaGraphExecUpdate(instance, graph, &info));
    }
    CHECK(cudaGraphDestroy(graph));
  }
  CHECK(cudaGraphLaunch(instance, main_stream));
  CHECK(cudaStreamSynchronize(main_stream));
  CHECK(cudaGraphExecDestroy(instance));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  CHECK(cudaStreamDestroy(side));
  CHECK(cudaStreamDestroy(main_stream));
  return a.host() == std::vector<int>(count, 1) && b.host() == std::vector<int>(count, 17);
}
