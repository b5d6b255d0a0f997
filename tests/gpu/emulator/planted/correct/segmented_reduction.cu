// Lanes find those with their own key and reduce within that group only.
#include "../suite.cuh"

__global__ void key_sums(const int* keys, int* sums) {
  const unsigned lane = threadIdx.x;
  const int key = keys[lane];
  const unsigned group = __match_any_sync(0xffffffffU, key);
  if (lane == static_cast<unsigned>(__ffs(group) - 1)) sums[key] = __popc(group);
}

int main() {
  const auto keys = suite::pattern<int>(32);
  suite::Array<int> in(keys), sums(11);
  sums.clear();
  key_sums<<<1, 32>>>(in.get(), sums.get());
  CHECK(cudaGetLastError());
  std::vector<int> expected(11);
  for (const int key : keys) ++expected[key];
  return suite::verdict(sums.host() == expected);
}
