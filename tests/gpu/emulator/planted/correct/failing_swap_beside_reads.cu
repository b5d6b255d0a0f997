// All keys are in the table: an insertion's compare-and-swap fails, so it writes nothing beside the plain reads.
#include "../suite.cuh"

__global__ void insert_and_find(int* table, int slots, const int* keys, int n, int* found) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* const slot = &table[keys[i] % slots];
  if (i % 2 == 0)
    found[i] = *slot == keys[i];
  else
    found[i] = atomicCAS(slot, -1, keys[i]) == keys[i];
}

int main() {
  const int slots = 16, n = 128;
  std::vector<int> present(slots), wanted(n);
  for (int i = 0; i < slots; ++i) present[i] = i;
  for (int i = 0; i < n; ++i) wanted[i] = i / 2 % slots;
  suite::Array<int> table(present), keys(wanted), found(n);
  insert_and_find<<<2, 64>>>(table.get(), slots, keys.get(), n, found.get());
  CHECK(cudaGetLastError());
  return suite::verdict(found.host() == std::vector<int>(n, 1));
}
