// A lock that all threads of a block compete for, also within a warp. The others retry while its owner does a lot of
// work.
#include "../suite.cuh"

__device__ int lock = 0;

__global__ void count_under_lock(int* total, int* work) {
  bool is_done = false;
  while (!is_done) {
    if (atomicCAS(&lock, 0, 1) != 0) continue;
    __threadfence();
    for (int i = 0; i < 300; ++i) atomicAdd(work, 1);
    *total += 1;
    __threadfence();
    atomicExch(&lock, 0);
    is_done = true;
  }
}

int main() {
  suite::Array<int> total(1), work(1);
  total.clear();
  work.clear();
  count_under_lock<<<3, 64>>>(total.get(), work.get());
  return suite::verdict(total.host()[0] == 192 && work.host()[0] == 192 * 300);
}
