// Parallel patterns: reductions, scans, histograms, sorting, graphs, sparse matrices, grids of points.
#include "courses.cuh"

using courses::blocks_for;
using courses::is_equal;
using suite::Array;
using suite::pattern;

static std::vector<int> prefix_sums(const std::vector<int>& values, bool is_inclusive) {
  std::vector<int> sums;
  int sum = 0;
  for (int value : values) {
    sums.push_back(is_inclusive ? sum + value : sum);
    sum += value;
  }
  return sums;
}

template <class T, unsigned int blockSize>
__global__ void reduce(const T* g_idata, T* g_odata, unsigned int n) {
  extern __shared__ T sdata[];
  unsigned int tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + tid;
  T sum = i < n ? g_idata[i] : 0;
  if (i + blockSize < n) sum += g_idata[i + blockSize];
  sdata[tid] = sum;
  __syncthreads();
  if (blockSize >= 256 && tid < 128) sdata[tid] = sum = sum + sdata[tid + 128];
  __syncthreads();
  if (blockSize >= 128 && tid < 64) sdata[tid] = sum = sum + sdata[tid + 64];
  __syncthreads();
  if (tid < 32) {
    if (blockSize >= 64) sum += sdata[tid + 32];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (tid == 0) g_odata[blockIdx.x] = sum;
  }
}

PROGRAM(reduction_by_block_size) {
  const int n = 5000;
  std::vector<int> values = pattern<int>(n);
  const int expected = prefix_sums(values, true).back();
  Array<int> in(values);
  bool is_right = true;
  for (int threads : {64, 128, 256}) {
    const int blocks = blocks_for(n, 2 * threads);
    Array<int> out(blocks);
    const size_t bytes = threads * sizeof(int);
    switch (threads) {
      case 64:
        reduce<int, 64><<<blocks, threads, bytes>>>(in.get(), out.get(), n);
        break;
      case 128:
        reduce<int, 128><<<blocks, threads, bytes>>>(in.get(), out.get(), n);
        break;
      default:
        reduce<int, 256><<<blocks, threads, bytes>>>(in.get(), out.get(), n);
    }
    is_right = is_right && prefix_sums(out.host(), true).back() == expected;
  }
  return is_right;
}

#define SECTION_SIZE 128

static __global__ void kogge_stone(const int* X, int* Y, int N) {
  __shared__ int XY[SECTION_SIZE];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  XY[threadIdx.x] = i < N ? X[i] : 0;
  for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    int temp = 0;
    if (threadIdx.x >= stride) temp = XY[threadIdx.x] + XY[threadIdx.x - stride];
    __syncthreads();
    if (threadIdx.x >= stride) XY[threadIdx.x] = temp;
  }
  if (i < N) Y[i] = XY[threadIdx.x];
}

static __global__ void brent_kung(const int* X, int* Y, int N) {
  __shared__ int XY[2 * SECTION_SIZE];
  unsigned int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
  XY[threadIdx.x] = i < N ? X[i] : 0;
  XY[threadIdx.x + blockDim.x] = i + blockDim.x < N ? X[i + blockDim.x] : 0;
  for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
    __syncthreads();
    unsigned int index = (threadIdx.x + 1) * 2 * stride - 1;
    if (index < 2 * blockDim.x) XY[index] += XY[index - stride];
  }
  for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
    __syncthreads();
    unsigned int index = (threadIdx.x + 1) * stride * 2 - 1;
    if (index + stride < 2 * blockDim.x) XY[index + stride] += XY[index];
  }
  __syncthreads();
  if (i < N) Y[i] = XY[threadIdx.x];
  if (i + blockDim.x < N) Y[i + blockDim.x] = XY[threadIdx.x + blockDim.x];
}

PROGRAM(scans_in_a_block) {
  bool is_right = true;
  for (int n : {100, 128}) {
    Array<int> in(pattern<int>(n)), out(n);
    kogge_stone<<<1, SECTION_SIZE>>>(in.get(), out.get(), n);
    is_right = is_right && out.host() == prefix_sums(pattern<int>(n), true);
    brent_kung<<<1, SECTION_SIZE>>>(in.get(), out.get(), n);
    is_right = is_right && out.host() == prefix_sums(pattern<int>(n), true);
  }
  return is_right;
}

static __global__ void upsweep(int* data, int n, int twod) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2 * twod;
  if (i < n) data[i + 2 * twod - 1] += data[i + twod - 1];
}
static __global__ void downsweep(int* data, int n, int twod) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2 * twod;
  if (i >= n) return;
  int t = data[i + twod - 1];
  data[i + twod - 1] = data[i + 2 * twod - 1];
  data[i + 2 * twod - 1] += t;
}
static __global__ void set_zero(int* data) { *data = 0; }

static void exclusive_scan(int* data, int n) {  // n is a power of two
  for (int twod = 1; twod < n / 2; twod *= 2) upsweep<<<blocks_for(n / (2 * twod), 128), 128>>>(data, n, twod);
  set_zero<<<1, 1>>>(data + n - 1);
  for (int twod = n / 2; twod >= 1; twod /= 2) downsweep<<<blocks_for(n / (2 * twod), 128), 128>>>(data, n, twod);
  CHECK(cudaDeviceSynchronize());
}

static __global__ void mark_repeats(const int* in, int* flags, int n, int padded) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < padded) flags[i] = i < n - 1 && in[i] == in[i + 1];
}
static __global__ void scatter_repeats(const int* in, const int* indices, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1 && in[i] == in[i + 1]) out[indices[i]] = i;
}

PROGRAM(find_repeats_by_scan) {
  const int n = 1000, padded = 1024;
  std::vector<int> values, expected;
  for (int i = 0; i < n; i++) values.push_back(i / 3 % 7 * (i % 5 != 0));
  for (int i = 0; i + 1 < n; i++) {
    if (values[i] == values[i + 1]) expected.push_back(i);
  }
  Array<int> in(values), flags(padded), out(n);
  mark_repeats<<<blocks_for(padded, 128), 128>>>(in.get(), flags.get(), n, padded);
  exclusive_scan(flags.get(), padded);
  scatter_repeats<<<blocks_for(n, 128), 128>>>(in.get(), flags.get(), out.get(), n);
  out.host();
  const int count = flags.host()[n - 1];
  std::vector<int> found(count);
  CHECK(cudaMemcpy(found.data(), out.get(), count * sizeof(int), cudaMemcpyDeviceToHost));
  return found == expected;
}

#define NUM_BINS 7

static __global__ void histogram(const char* data, unsigned int length, unsigned int* histo) {
  __shared__ unsigned int histo_s[NUM_BINS];
  for (unsigned int bin = threadIdx.x; bin < NUM_BINS; bin += blockDim.x) histo_s[bin] = 0u;
  __syncthreads();
  unsigned int accumulator = 0;
  int previous = -1;
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += blockDim.x * gridDim.x) {
    int position = data[i] - 'a';
    if (position < 0 || position >= 26) continue;
    int bin = position / 4;
    if (bin == previous) {
      ++accumulator;
    } else {
      if (accumulator > 0) atomicAdd(&histo_s[previous], accumulator);
      accumulator = 1;
      previous = bin;
    }
  }
  if (accumulator > 0) atomicAdd(&histo_s[previous], accumulator);
  __syncthreads();
  for (unsigned int bin = threadIdx.x; bin < NUM_BINS; bin += blockDim.x) {
    if (histo_s[bin] > 0) atomicAdd(&histo[bin], histo_s[bin]);
  }
}

PROGRAM(histogram_with_private_bins) {
  std::vector<char> text;
  std::vector<unsigned> expected(NUM_BINS);
  for (int i = 0; i < 3000; i++) text.push_back(i % 11 == 0 ? ' ' : 'a' + i * i % 26);
  for (char letter : text) {
    if (letter != ' ') expected[(letter - 'a') / 4]++;
  }
  Array<char> in(text);
  Array<unsigned> bins(NUM_BINS);
  bins.clear();
  histogram<<<5, 96>>>(in.get(), text.size(), bins.get());
  return bins.host() == expected;
}

static __device__ int co_rank(int k, const int* A, int m, const int* B, int n) {
  int low = max(0, k - n), high = min(k, m);
  while (low < high) {
    int i = (low + high) / 2;
    if (A[i] < B[k - i - 1])
      low = i + 1;
    else
      high = i;
  }
  return low;
}

static __global__ void merge(const int* A, int m, const int* B, int n, int* C, int per_thread) {
  int first = (blockIdx.x * blockDim.x + threadIdx.x) * per_thread, last = min(first + per_thread, m + n);
  if (first >= m + n) return;
  int i = co_rank(first, A, m, B, n), j = first - i;
  for (int k = first; k < last; k++) C[k] = j >= n || (i < m && A[i] <= B[j]) ? A[i++] : B[j++];
}

PROGRAM(merge_by_co_rank) {
  std::vector<int> a = pattern<int>(333), b = pattern<int>(200), expected;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  expected = a;
  expected.insert(expected.end(), b.begin(), b.end());
  std::sort(expected.begin(), expected.end());
  Array<int> A(a), B(b), C(expected.size());
  merge<<<3, 64>>>(A.get(), a.size(), B.get(), b.size(), C.get(), 4);
  return C.host() == expected;
}

static __global__ void radix_pass(const unsigned* in, unsigned* out, unsigned* bits, int n, int bit) {
  int i = threadIdx.x;
  unsigned key = i < n ? in[i] : 0, is_one = i < n ? key >> bit & 1 : 0;
  bits[i] = is_one;
  for (int stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    unsigned before = i >= stride ? bits[i - stride] : 0;
    __syncthreads();
    bits[i] += before;
  }
  __syncthreads();
  unsigned ones_before = bits[i] - is_one, ones = bits[n - 1];
  if (i < n) out[is_one ? n - ones + ones_before : i - ones_before] = key;
}

PROGRAM(radix_sort_of_a_block) {
  std::vector<unsigned> keys;
  for (unsigned i = 0; i < 200; i++) keys.push_back(i * 2654435761u >> 20 & 0xff);
  Array<unsigned> a(keys), b(keys.size()), bits(256);
  for (int bit = 0; bit < 8; bit++) {
    const bool is_even = bit % 2 == 0;
    radix_pass<<<1, 256>>>(is_even ? a.get() : b.get(), is_even ? b.get() : a.get(), bits.get(), keys.size(), bit);
  }
  std::sort(keys.begin(), keys.end());
  return a.host() == keys;
}

static __global__ void bfs_frontier(const int* row, const int* column, int* level, const int* previous,
                                    int previous_count, int* next, int* next_count, int current) {
  __shared__ int local[128];
  __shared__ int local_count, first;
  if (threadIdx.x == 0) local_count = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < previous_count) {
    for (int edge = row[previous[i]]; edge < row[previous[i] + 1]; edge++) {
      if (atomicCAS(&level[column[edge]], -1, current) != -1) continue;
      int place = atomicAdd(&local_count, 1);
      if (place < 128)
        local[place] = column[edge];
      else
        next[atomicAdd(next_count, 1)] = column[edge];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    local_count = min(local_count, 128);
    first = atomicAdd(next_count, local_count);
  }
  __syncthreads();
  for (int each = threadIdx.x; each < local_count; each += blockDim.x) next[first + each] = local[each];
}

// A grid of 20 x 15 vertices: the level of one is its distance from the corner.
PROGRAM(breadth_first_search) {
  const int width = 20, height = 15, vertices = width * height;
  std::vector<int> row(1), column, expected;
  for (int v = 0; v < vertices; v++) {
    const int x = v % width, y = v / width;
    if (x > 0) column.push_back(v - 1);
    if (x + 1 < width) column.push_back(v + 1);
    if (y > 0) column.push_back(v - width);
    if (y + 1 < height) column.push_back(v + width);
    row.push_back(column.size());
    expected.push_back(x + y);
  }
  std::vector<int> start(vertices, -1);
  start[0] = 0;
  Array<int> d_row(row), d_column(column);
  Array<int> level(start), one(vertices), two(vertices), count(1);
  CHECK(cudaMemset(one.get(), 0, sizeof(int)));
  for (int current = 1, frontier = 1; frontier > 0; current++) {
    count.clear();
    bfs_frontier<<<blocks_for(frontier, 64), 64>>>(d_row.get(), d_column.get(), level.get(),
                                                   current % 2 ? one.get() : two.get(), frontier,
                                                   current % 2 ? two.get() : one.get(), count.get(), current);
    frontier = count.host()[0];
  }
  return level.host() == expected;
}

static __global__ void spmv_csr(const int* row, const int* column, const float* value, const float* x, float* y,
                                int rows) {
  int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float sum = 0;
  for (int i = row[r] + lane; i < row[r + 1]; i += 32) sum += value[i] * x[column[i]];
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(~0u, sum, offset);
  if (lane == 0) y[r] = sum;
}

PROGRAM(sparse_matrix_vector) {
  const int rows = 50;
  std::vector<int> row(1), column;
  std::vector<float> value, x = pattern<float>(rows), expected(rows);
  for (int r = 0; r < rows; r++) {
    for (int c = r % 3; c < rows; c += 1 + r % 4) {
      column.push_back(c);
      value.push_back(1 + (r + c) % 5);
      expected[r] += value.back() * x[c];
    }
    row.push_back(column.size());
  }
  Array<int> d_row(row), d_column(column);
  Array<float> d_value(value), d_x(x), y(rows);
  spmv_csr<<<blocks_for(rows, 4), 128>>>(d_row.get(), d_column.get(), d_value.get(), d_x.get(), y.get(), rows);
  return is_equal(y.host(), expected);
}

static __global__ void bodies(const float4* position, float3* force, int n) {
  extern __shared__ float4 shared_position[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 mine = i < n ? position[i] : make_float4(0, 0, 0, 0);
  float3 sum = {0.0f, 0.0f, 0.0f};
  for (int tile = 0; tile * blockDim.x < n; tile++) {
    int j = tile * blockDim.x + threadIdx.x;
    shared_position[threadIdx.x] = j < n ? position[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < blockDim.x; k++) {
      float4 other = shared_position[k];
      float3 r = make_float3(other.x - mine.x, other.y - mine.y, other.z - mine.z);
      float inverse = rsqrtf(r.x * r.x + r.y * r.y + r.z * r.z + 0.01f), s = other.w * inverse * inverse * inverse;
      sum.x += r.x * s;
      sum.y += r.y * s;
      sum.z += r.z * s;
    }
    __syncthreads();
  }
  if (i < n) force[i] = sum;
}

PROGRAM(n_bodies) {
  const int n = 100;
  std::vector<float4> position;
  for (int i = 0; i < n; i++) position.push_back(make_float4(i % 7, i % 5, i % 3, 1 + i % 2));
  Array<float4> in(position);
  Array<float3> out(n);
  bodies<<<blocks_for(n, 32), 32, 32 * sizeof(float4)>>>(in.get(), out.get(), n);
  std::vector<float3> force = out.host();
  float3 total = {0, 0, 0};  // times masses: action and reaction cancel
  float largest = 0;
  for (int i = 0; i < n; i++) {
    total.x += force[i].x * position[i].w;
    total.y += force[i].y * position[i].w;
    total.z += force[i].z * position[i].w;
    largest = fmaxf(largest, fabsf(force[i].x));
  }
  return largest > 1 && fabsf(total.x) < 0.01f && fabsf(total.y) < 0.01f && fabsf(total.z) < 0.01f;
}

static __device__ float cnd(float d) { return normcdff(d); }

static __global__ void black_scholes(float* call, float* put, const float* price, const float* strike, int n) {
  const float years = 1.5f, riskfree = 0.02f, volatility = 0.3f;
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  float root = sqrtf(years);
  float d1 =
      __fdividef(__logf(price[i] / strike[i]) + (riskfree + 0.5f * volatility * volatility) * years, volatility * root);
  float d2 = d1 - volatility * root, discount = __expf(-riskfree * years);
  call[i] = price[i] * cnd(d1) - strike[i] * discount * cnd(d2);
  put[i] = strike[i] * discount * (1.0f - cnd(d2)) - price[i] * (1.0f - cnd(d1));
}

PROGRAM(option_prices) {
  const int n = 300;
  std::vector<float> price, strike;
  for (int i = 0; i < n; i++) {
    price.push_back(5 + i % 25);
    strike.push_back(4 + i % 31);
  }
  Array<float> d_price(price), d_strike(strike), call(n), put(n);
  black_scholes<<<blocks_for(n, 128), 128>>>(call.get(), put.get(), d_price.get(), d_strike.get(), n);
  std::vector<float> calls = call.host(), puts = put.host();
  bool is_right = true;  // put-call parity
  for (int i = 0; i < n; i++) {
    is_right = is_right && fabsf(calls[i] - puts[i] - price[i] + strike[i] * expf(-0.03f)) < 1e-4f && calls[i] >= 0;
  }
  return is_right;
}

static __global__ void online_softmax(const float* in, float* out, int columns) {
  const float* x = in + blockIdx.x * columns;
  float m = -INFINITY, d = 0;
  for (int i = threadIdx.x; i < columns; i += 32) {
    float next = fmaxf(m, x[i]);
    d = d * __expf(m - next) + __expf(x[i] - next);
    m = next;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    float other_m = __shfl_xor_sync(0xffffffff, m, offset), other_d = __shfl_xor_sync(0xffffffff, d, offset);
    float next = fmaxf(m, other_m);
    d = (m == -INFINITY ? 0 : d * __expf(m - next)) + (other_m == -INFINITY ? 0 : other_d * __expf(other_m - next));
    m = next;
  }
  for (int i = threadIdx.x; i < columns; i += 32) out[blockIdx.x * columns + i] = __expf(x[i] - m) / d;
}

PROGRAM(softmax_in_one_pass) {
  const int rows = 5, columns = 70;
  std::vector<float> values = pattern<float>(rows * columns), expected;
  for (int r = 0; r < rows; r++) {
    double sum = 0;
    for (int c = 0; c < columns; c++) sum += exp(values[r * columns + c] - 10.0);
    for (int c = 0; c < columns; c++) expected.push_back(exp(values[r * columns + c] - 10.0) / sum);
  }
  Array<float> in(values), out(values.size());
  online_softmax<<<rows, 32>>>(in.get(), out.get(), columns);
  return is_equal(out.host(), expected);
}
