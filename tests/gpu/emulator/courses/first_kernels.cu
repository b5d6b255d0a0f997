// First lessons: maps, grids of two dimensions, tiles in shared memory, streams, managed and mapped memory.
#include "courses.cuh"

using courses::blocks_for;
using courses::is_equal;
using suite::Array;
using suite::pattern;

static __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

PROGRAM(vector_addition) {
  const int n = 50000;
  std::vector<float> a = pattern<float>(n), b = pattern<float>(n), c(n), expected(n);
  for (int i = 0; i < n; i++) expected[i] = a[i] + b[i];
  float *d_a = NULL, *d_b = NULL, *d_c = NULL;
  CHECK(cudaMalloc((void**)&d_a, n * sizeof(float)));
  CHECK(cudaMalloc((void**)&d_b, n * sizeof(float)));
  CHECK(cudaMalloc((void**)&d_c, n * sizeof(float)));
  CHECK(cudaMemcpy(d_a, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_b, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventRecord(start));
  add<<<(n + 255) / 256, 256>>>(d_a, d_b, d_c, n);
  CHECK(cudaEventRecord(stop));
  CHECK(cudaGetLastError());
  CHECK(cudaEventSynchronize(stop));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  CHECK(cudaMemcpy(c.data(), d_c, n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaFree(d_a));
  CHECK(cudaFree(d_b));
  CHECK(cudaFree(d_c));
  return ms >= 0 && is_equal(c, expected);
}

static __global__ void saxpy(int n, float a, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}

PROGRAM(managed_saxpy) {
  const int n = 1 << 14;
  float *x, *y;
  CHECK(cudaMallocManaged(&x, n * sizeof(float)));
  CHECK(cudaMallocManaged(&y, n * sizeof(float)));
  for (int i = 0; i < n; i++) {
    x[i] = 1.0f;
    y[i] = 2.0f;
  }
  cudaMemLocation device{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
  CHECK(cudaMemAdvise(x, n * sizeof(float), cudaMemAdviseSetReadMostly, device));
  CHECK(cudaMemPrefetchAsync(x, n * sizeof(float), device, 0));
  saxpy<<<16, 256>>>(n, 3.0f, x, y);
  CHECK(cudaMemPrefetchAsync(y, n * sizeof(float), host, 0));
  CHECK(cudaDeviceSynchronize());
  float error = 0;
  for (int i = 0; i < n; i++) error = fmaxf(error, fabsf(y[i] - 5.0f));
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  return error == 0;
}

PROGRAM(variable_named_like_a_kernel) {
  float* add;
  CHECK(cudaMalloc((void**)&add, sizeof(float)));
  CHECK(cudaMemset((void*)add, 0, sizeof(float)));
  float value = 1;
  CHECK(cudaMemcpy(&value, (const void*)add, sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaFree((void*)add));
  return value == 0;
}

PROGRAM(launch_by_pointer) {
  const int n = 300;
  Array<float> x(pattern<float>(n)), y(pattern<float>(n));
  int count = n;
  float a = 2;
  const float* in = x.get();
  float* out = y.get();
  void* arguments[] = {&count, &a, &in, &out};
  CHECK(cudaLaunchKernel((void*)saxpy, dim3(2), dim3(64), arguments, 0, 0));
  CHECK(cudaLaunchKernel((const void*)&saxpy, dim3(2), dim3(64), arguments, 0, NULL));
  CHECK(cudaLaunchKernel(saxpy, dim3(2), dim3(64), arguments));
  std::vector<float> expected = pattern<float>(n);
  for (float& value : expected) value *= 7;
  return is_equal(y.host(), expected);
}

static __global__ void grey(const uchar4* rgba, unsigned char* out, int rows, int columns) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= columns || y >= rows) return;
  uchar4 p = rgba[y * columns + x];
  out[y * columns + x] = .299f * p.x + .587f * p.y + .114f * p.z;
}

PROGRAM(colour_to_grey) {
  const int rows = 37, columns = 51;
  std::vector<uchar4> image(rows * columns);
  std::vector<unsigned char> expected(rows * columns);
  for (int i = 0; i < rows * columns; i++) {
    image[i] = make_uchar4(i % 251, i % 127, i % 13, 255);
    expected[i] = .299f * image[i].x + .587f * image[i].y + .114f * image[i].z;
  }
  Array<uchar4> in(image);
  Array<unsigned char> out(rows * columns);
  dim3 block(16, 16, 1), grid((columns + 15) / 16, (rows + 15) / 16, 1);
  grey<<<grid, block>>>(in.get(), out.get(), rows, columns);
  return is_equal(out.host(), expected);
}

#define TILE_WIDTH 16

static __global__ void multiply_tiled(const float* M, const float* N, float* P, int width) {
  __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
  __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
  float value = 0;
  for (int ph = 0; ph < (width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
    Mds[ty][tx] = row < width && ph * TILE_WIDTH + tx < width ? M[row * width + ph * TILE_WIDTH + tx] : 0.0f;
    Nds[ty][tx] = col < width && ph * TILE_WIDTH + ty < width ? N[(ph * TILE_WIDTH + ty) * width + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE_WIDTH; ++k) value += Mds[ty][k] * Nds[k][tx];
    __syncthreads();
  }
  if (row < width && col < width) P[row * width + col] = value;
}

// At file scope, as some books write it: all kernels of the file use this name for it.
extern __shared__ float tiles[];

static __global__ void multiply_dynamic(const float* M, const float* N, float* P, int width, unsigned tile) {
  float* Mds = tiles;
  float* Nds = &tiles[tile * tile];
  unsigned tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
  float value = 0;
  for (unsigned ph = 0; ph * tile < width; ++ph) {
    Mds[ty * tile + tx] = row < width && ph * tile + tx < width ? M[row * width + ph * tile + tx] : 0;
    Nds[ty * tile + tx] = col < width && ph * tile + ty < width ? N[(ph * tile + ty) * width + col] : 0;
    __syncthreads();
    for (unsigned k = 0; k < tile; ++k) value += Mds[ty * tile + k] * Nds[k * tile + tx];
    __syncthreads();
  }
  if (row < width && col < width) P[row * width + col] = value;
}

static __global__ void reverse_vectors(float4* data) {
  float4* staged = reinterpret_cast<float4*>(tiles);
  staged[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  float4 v = staged[blockDim.x - 1 - threadIdx.x];
  data[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
}

PROGRAM(matrix_products) {
  const int width = 45;
  std::vector<float> a = pattern<float>(width * width), expected(width * width);
  for (int i = 0; i < width; i++) {
    for (int j = 0; j < width; j++) {
      for (int k = 0; k < width; k++) expected[i * width + j] += a[i * width + k] * a[k * width + j];
    }
  }
  Array<float> m(a), p(width * width), q(width * width);
  dim3 grid(blocks_for(width, TILE_WIDTH), blocks_for(width, TILE_WIDTH)), block(TILE_WIDTH, TILE_WIDTH);
  multiply_tiled<<<grid, block>>>(m.get(), m.get(), p.get(), width);
  const unsigned tile = 8;
  size_t bytes = 2 * tile * tile * sizeof(float);
  multiply_dynamic<<<dim3(6, 6), dim3(tile, tile), bytes>>>(m.get(), m.get(), q.get(), width, tile);
  return is_equal(p.host(), expected) && is_equal(q.host(), expected);
}

PROGRAM(shared_memory_at_file_scope) {
  const int n = 64;
  std::vector<float> values = pattern<float>(4 * n), expected(values.rbegin(), values.rend());
  Array<float> data(values);
  reverse_vectors<<<1, n, n * sizeof(float4)>>>((float4*)data.get());
  return is_equal(data.host(), expected);
}

static __constant__ float mask[5];

static __global__ void convolve(const float* in, float* out, int n) {
  __shared__ float staged[64 + 4];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  staged[threadIdx.x + 2] = i < n ? in[i] : 0;
  if (threadIdx.x < 2) {
    int left = blockIdx.x * blockDim.x - 2 + threadIdx.x;
    staged[threadIdx.x] = left < 0 ? 0 : in[left];
    int right = (blockIdx.x + 1) * blockDim.x + threadIdx.x;
    staged[blockDim.x + 2 + threadIdx.x] = right < n ? in[right] : 0;
  }
  __syncthreads();
  float sum = 0;
  for (int j = 0; j < 5; j++) sum += staged[threadIdx.x + j] * mask[j];
  if (i < n) out[i] = sum;
}

PROGRAM(convolution_with_halo) {
  const int n = 1000;
  const float weights[5] = {1, 2, 3, 2, 1};
  std::vector<float> values = pattern<float>(n), expected(n);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < 5; j++) {
      if (i + j - 2 >= 0 && i + j - 2 < n) expected[i] += values[i + j - 2] * weights[j];
    }
  }
  CHECK(cudaMemcpyToSymbol(mask, weights, sizeof(weights)));
  Array<float> in(values), out(n);
  convolve<<<blocks_for(n, 64), 64>>>(in.get(), out.get(), n);
  return is_equal(out.host(), expected);
}

static __global__ void square_slice(float* data, int offset) {
  int i = offset + blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] * data[i];
}

PROGRAM(overlapping_streams) {
  const int streams = 4, slice = 512, n = streams * slice;
  float *host, *device;
  CHECK(cudaMallocHost(&host, n * sizeof(float)));
  CHECK(cudaMalloc(&device, n * sizeof(float)));
  for (int i = 0; i < n; i++) host[i] = i % 10;
  cudaStream_t stream[streams];
  for (int s = 0; s < streams; s++) CHECK(cudaStreamCreate(&stream[s]));
  for (int s = 0; s < streams; s++) {
    int offset = s * slice;
    CHECK(cudaMemcpyAsync(&device[offset], &host[offset], slice * sizeof(float), cudaMemcpyHostToDevice, stream[s]));
    square_slice<<<slice / 128, 128, 0, stream[s]>>>(device, offset);
    CHECK(cudaMemcpyAsync(&host[offset], &device[offset], slice * sizeof(float), cudaMemcpyDeviceToHost, stream[s]));
  }
  for (int s = 0; s < streams; s++) {
    CHECK(cudaStreamSynchronize(stream[s]));
    CHECK(cudaStreamDestroy(stream[s]));
  }
  bool is_right = true;
  for (int i = 0; i < n; i++) is_right = is_right && host[i] == (i % 10) * (i % 10);
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(device));
  return is_right;
}

PROGRAM(mapped_host_memory) {
  const int n = 256;
  float *a, *b, *c, *d_a, *d_b, *d_c;
  CHECK(cudaHostAlloc(&a, n * sizeof(float), cudaHostAllocMapped));
  CHECK(cudaHostAlloc(&b, n * sizeof(float), cudaHostAllocMapped));
  CHECK(cudaHostAlloc(&c, n * sizeof(float), cudaHostAllocMapped));
  for (int i = 0; i < n; i++) a[i] = b[i] = i;
  CHECK(cudaHostGetDevicePointer((void**)&d_a, a, 0));
  CHECK(cudaHostGetDevicePointer((void**)&d_b, b, 0));
  CHECK(cudaHostGetDevicePointer((void**)&d_c, c, 0));
  add<<<1, n>>>(d_a, d_b, d_c, n);
  CHECK(cudaDeviceSynchronize());
  bool is_right = true;
  for (int i = 0; i < n; i++) is_right = is_right && c[i] == 2 * i;
  for (float* each : {a, b, c}) CHECK(cudaFreeHost(each));
  return is_right;
}

__device__ __managed__ int launches = 0;

static __global__ void count_launch() {
  if (threadIdx.x == 0) launches += 1;
}

PROGRAM(managed_variable) {
  for (int i = 0; i < 3; i++) count_launch<<<1, 32>>>();
  CHECK(cudaDeviceSynchronize());
  return launches == 3;
}

static __global__ void print_ids() {
  if (threadIdx.x == 0 && blockIdx.x == 0 && warpSize == 0)
    printf("Hello from block %d, thread %d\n", blockIdx.x, threadIdx.x);
}

PROGRAM(device_query) {
  int count = 0, version = 0, value = 0;
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaRuntimeGetVersion(&version));
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  int chosen = -1;
  CHECK(cudaChooseDevice(&chosen, &prop));
  CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
  CHECK(
      cudaFuncSetAttribute(print_ids, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  print_ids<<<2, 32>>>();
  CHECK(cudaDeviceSynchronize());
  return count >= 1 && version >= 12000 && prop.warpSize == 32 && value == prop.multiProcessorCount &&
         prop.cooperativeLaunch == 1 && chosen >= 0;
}

static __global__ void mandelbrot(int* out, int width, int height, int most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= width || j >= height) return;
  float cr = -2.0f + i * (3.0f / width), ci = -1.0f + j * (2.0f / height), zr = cr, zi = ci;
  int k = 0;
  for (; k < most && zr * zr + zi * zi <= 4.f; ++k) {
    float next = zr * zr - zi * zi;
    zi = 2.f * zr * zi + ci;
    zr = next + cr;
  }
  out[j * width + i] = k;
}

PROGRAM(mandelbrot_set) {
  const int width = 60, height = 40;
  Array<int> out(width * height);
  mandelbrot<<<dim3(blocks_for(width, 16), blocks_for(height, 16)), dim3(16, 16)>>>(out.get(), width, height, 64);
  std::vector<int> image = out.host();
  return image[20 * width + 40] == 64 && image[0] < 5;  // the origin belongs to the set, the corner does not
}

static __global__ void checks_index(int limit) { assert((int)threadIdx.x < limit); }

PROGRAM(fails_assertion) {
  checks_index<<<2, 64>>>(60);
  const cudaError_t first = cudaDeviceSynchronize(), second = cudaGetLastError();
  void* memory = nullptr;
  return first == cudaErrorAssert && second == cudaErrorAssert && cudaMalloc(&memory, 4) == cudaErrorAssert;
}
