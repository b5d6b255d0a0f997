// A scan across blocks that take tickets: each block waits for the sum of its predecessor. Within a block, the other
// warps wait for the first one and sleep in between.
#include "../suite.cuh"

__device__ unsigned int tickets = 0;

__global__ void chained_scan(const int* in, int* sums, int* flags, int* out) {
  __shared__ unsigned int ticket;
  __shared__ int before;
  __shared__ int is_known;
  if (threadIdx.x == 0) {
    ticket = atomicAdd(&tickets, 1);
    is_known = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    while (ticket > 0 && atomicAdd(&flags[ticket - 1], 0) == 0) __nanosleep(20);
    __threadfence();
    before = ticket > 0 ? sums[ticket - 1] : 0;
    for (unsigned int i = 0; i < blockDim.x; ++i) atomicAdd(&sums[ticket], in[ticket * blockDim.x + i]);
    atomicAdd(&sums[ticket], before);
    __threadfence();
    atomicExch(&flags[ticket], 1);
    atomicExch(&is_known, 1);
  } else if (threadIdx.x % 32 == 0) {
    while (atomicAdd(&is_known, 0) == 0) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
  int sum = before;
  for (unsigned int i = 0; i <= threadIdx.x; ++i) sum += in[ticket * blockDim.x + i];
  out[ticket * blockDim.x + threadIdx.x] = sum;
}

int main() {
  const int blocks = 5, threads = 96;
  std::vector<int> values(blocks * threads);
  for (int i = 0; i < blocks * threads; ++i) values[i] = i % 7 + 1;
  const suite::Array<int> in(values);
  suite::Array<int> sums(blocks), flags(blocks), out(blocks * threads);
  sums.clear();
  flags.clear();
  chained_scan<<<blocks, threads>>>(in.get(), sums.get(), flags.get(), out.get());
  const std::vector<int> found = out.host();
  int sum = 0;
  bool is_right = true;
  for (int i = 0; i < blocks * threads; ++i) {
    sum += values[i];
    is_right = is_right && found[i] == sum;
  }
  return suite::verdict(is_right);
}
