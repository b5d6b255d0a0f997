// Only the first block fills the table; the others read what a block before them happened to leave.
#include "../suite.cuh"

__global__ void look_up(const int* indices, int* out) {
  __shared__ int squares[16];
  if (blockIdx.x == 0 && threadIdx.x < 16) squares[threadIdx.x] = threadIdx.x * threadIdx.x;
  __syncthreads();
  const int i = blockIdx.x * 32 + threadIdx.x;
  out[i] = squares[indices[i]];  // BUG: uninitialised read
}

int main() {
  suite::Array<int> indices(suite::pattern<int>(96)), out(96);
  look_up<<<3, 32>>>(indices.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host()[0] == 9);
}
