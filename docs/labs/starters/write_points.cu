// Lab 2, B2: each thread writes one point of four floats. Neighbouring lanes write 16 bytes apart.
//
// Reach 64 sectors in all: with one float4 per thread, and with an array for each member.
#include <cuda_runtime.h>

#include <cstdio>

struct Point {
  float x, y, z, weight;
};

__global__ void write_points(Point* points, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  points[i].x = static_cast<float>(i);
  points[i].y = static_cast<float>(2 * i);
  points[i].z = 0;
  points[i].weight = 1;
}

int main() {
  constexpr int kCount = 128;
  Point* points = nullptr;
  cudaMalloc(&points, kCount * sizeof(Point));
  write_points<<<1, kCount>>>(points, kCount);
  Point last = {};
  cudaMemcpy(&last, points + kCount - 1, sizeof(Point), cudaMemcpyDeviceToHost);
  std::printf("the last point is %g %g %g, weight %g\n", last.x, last.y, last.z, last.weight);
  cudaFree(points);
}
