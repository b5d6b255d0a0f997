// One block does 36 million atomics without a barrier in between, and nearly all of them change nothing. It must not
// be taken for one that waits in vain.
#include "../suite.cuh"

__global__ void keep_maximum(const int* in, int rounds, int* most) {
  for (int round = 0; round < rounds; ++round) atomicMax(most, in[(round * blockDim.x + threadIdx.x) % 1024]);
}

int main() {
  std::vector<int> values(1024);
  for (int i = 0; i < 1024; ++i) values[i] = i * 37 % 1024;
  const suite::Array<int> in(values);
  suite::Array<int> most(1);
  most.clear();
  keep_maximum<<<1, 256>>>(in.get(), 140000, most.get());
  return suite::verdict(most.host()[0] == 1023);
}
