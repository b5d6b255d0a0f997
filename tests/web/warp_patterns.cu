// The accesses that the panel "warp" draws, as a kernel: each line marked "case" is one request of one warp.
// warp.test.js compares the panel's numbers with what ./lockstep emulate --metrics counts for that line.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void device_memory(const char* bytes, const short* halves, const float* floats, const double* doubles,
                              const float4* quads, float* sums) {
  const int lane = threadIdx.x;
  float sum = 0;
  sum += floats[lane];                                 // case global consecutive 4 1 0
  sum += floats[1 + lane];                             // case global consecutive 4 1 1
  sum += floats[7 + lane];                             // case global consecutive 4 1 7
  sum += floats[2 * lane];                             // case global strided 4 2 0
  sum += floats[3 * lane];                             // case global strided 4 3 0
  sum += floats[5 + 3 * lane];                         // case global strided 4 3 5
  sum += floats[8 * lane];                             // case global strided 4 8 0
  sum += floats[33 * lane];                            // case global strided 4 33 0
  sum += floats[9];                                    // case global broadcast 4 1 9
  sum += floats[32 * lane + 3];                        // case global column 4 1 3
  sum += floats[33 * lane + 3];                        // case global padded 4 1 3
  sum += bytes[lane];                                  // case global consecutive 1 1 0
  sum += bytes[30 + lane];                             // case global consecutive 1 1 30
  sum += bytes[7 * lane];                              // case global strided 1 7 0
  sum += halves[lane];                                 // case global consecutive 2 1 0
  sum += halves[5 * lane + 3];                         // case global strided 2 5 3
  sum += doubles[lane];                                // case global consecutive 8 1 0
  sum += doubles[4 * lane + 1];                        // case global strided 8 4 1
  const float4 quad = quads[lane];                     // case global consecutive 16 1 0
  const float4 far = quads[3 * lane + 1];              // case global strided 16 3 1
  sums[lane] = sum + quad.x + quad.w + far.y + far.z;  // case global consecutive 4 1 0
}

__global__ void shared_memory(float* sums) {
  __shared__ float4 storage[32 * 33 * 2];
  auto* floats = reinterpret_cast<float*>(storage);
  const auto* bytes = reinterpret_cast<const char*>(storage);
  const auto* doubles = reinterpret_cast<const double*>(storage);
  const int lane = threadIdx.x;
  for (int i = lane; i < 32 * 33 * 2 * 4; i += 32) floats[i] = 0;
  __syncthreads();
  float sum = 0;
  sum += floats[lane];                       // case shared consecutive 4 1 0
  sum += floats[2 * lane];                   // case shared strided 4 2 0
  sum += floats[3 * lane];                   // case shared strided 4 3 0
  sum += floats[16 * lane + 1];              // case shared strided 4 16 1
  sum += floats[9];                          // case shared broadcast 4 1 9
  sum += floats[32 * lane + 3];              // case shared column 4 1 3
  sum += floats[33 * lane + 3];              // case shared padded 4 1 3
  sum += bytes[lane];                        // case shared consecutive 1 1 0
  sum += bytes[12 * lane];                   // case shared strided 1 12 0
  sum += doubles[lane];                      // case shared consecutive 8 1 0
  sum += doubles[2 * lane];                  // case shared strided 8 2 0
  sum += doubles[32 * lane];                 // case shared column 8 1 0
  sum += doubles[33 * lane];                 // case shared padded 8 1 0
  sum += doubles[9];                         // case shared broadcast 8 1 9
  const float4 same = storage[9];            // case shared broadcast 16 1 9
  const float4 quad = storage[lane];         // case shared consecutive 16 1 0
  const float4 far = storage[2 * lane + 1];  // case shared strided 16 2 1
  sums[lane] = sum + quad.x + quad.w + far.y + far.z + same.x + same.y;
}

int main() {
  constexpr int kBytes = 1 << 16;
  char* memory = nullptr;
  float* sums = nullptr;
  cudaMalloc(&memory, kBytes);
  cudaMalloc(&sums, 32 * sizeof(float));
  cudaMemset(memory, 0, kBytes);
  device_memory<<<1, 32>>>(memory, reinterpret_cast<short*>(memory), reinterpret_cast<float*>(memory),
                           reinterpret_cast<double*>(memory), reinterpret_cast<float4*>(memory), sums);
  shared_memory<<<1, 32>>>(sums);
  const cudaError_t status = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(status));
  return status == cudaSuccess ? 0 : 1;
}
