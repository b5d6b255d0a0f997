// Keys are inserted by compare-and-swap while others look for them with plain reads.
#include "../suite.cuh"

__global__ void insert_and_find(int* table, int* found) {
  const int i = threadIdx.x;
  if (i < 32)
    found[i] = table[i] == i;  // BUG: race
  else
    found[i] = atomicCAS(&table[i - 32], -1, i - 32) == -1;
}

int main() {
  suite::Array<int> table(std::vector<int>(32, -1)), found(64);
  insert_and_find<<<1, 64>>>(table.get(), found.get());
  CHECK(cudaGetLastError());
  return suite::verdict(found.host()[63] == 1);
}
