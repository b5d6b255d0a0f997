// A tile of 8 rows and 32 columns, indexed the other way round.
#include "../suite.cuh"

__global__ void load(const float* in, float* out) {
  __shared__ float tile[8][32];
  tile[threadIdx.x][threadIdx.y] = in[threadIdx.y * 32 + threadIdx.x];  // BUG: access out of bounds, ALSO: host pointer
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.y][threadIdx.x];  // ALSO: uninitialised read
}

int main() {
  suite::Array<float> in(suite::pattern<float>(256)), out(256);
  load<<<1, dim3(32, 8)>>>(in.get(), out.get());
  CHECK(cudaGetLastError());
  return suite::verdict(out.host().size() == 256);
}
