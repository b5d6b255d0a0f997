// An uncoalesced store: thread i writes structure i, one member after the other.
//
// Nothing is wrong with the result. Neighbouring lanes write 16 bytes apart, so that each of the four stores touches
// all 16 sectors that the warp's structures occupy, and uses a quarter of each. The cure: one store of a float4
// (particles[i] = made), or an array for each member.
#include <cuda_runtime.h>

#include <cstdio>

struct Particle {
  float x, y, z, mass;
};

__global__ void place(Particle* particles, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  particles[i].x = static_cast<float>(i);
  particles[i].y = 0.5F;
  particles[i].z = -static_cast<float>(i);
  particles[i].mass = 1;
}

int main() {
  constexpr int kCount = 128;
  Particle* particles = nullptr;
  cudaMalloc(&particles, kCount * sizeof(Particle));
  place<<<1, kCount>>>(particles, kCount);
  Particle last = {};
  cudaMemcpy(&last, particles + kCount - 1, sizeof(Particle), cudaMemcpyDeviceToHost);
  std::printf("the last one is at %g %g %g\n", last.x, last.y, last.z);
  cudaFree(particles);
}
