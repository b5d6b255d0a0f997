// Votes give each lane its place among those that keep their value; one atomic per warp reserves room.
#include "../suite.cuh"

__global__ void keep_even(const int* in, int n, int* out, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const int value = i < n ? in[i] : 1;
  const unsigned votes = __ballot_sync(0xffffffffU, value % 2 == 0);
  int begin = 0;
  if (lane == 0) begin = atomicAdd(count, __popc(votes));
  begin = __shfl_sync(0xffffffffU, begin, 0);
  if (value % 2 == 0) out[begin + __popc(votes & ((1U << lane) - 1))] = value;
}

int main() {
  const auto values = suite::pattern<int>(200);
  suite::Array<int> in(values), out(200), count(1);
  out.clear();
  count.clear();
  keep_even<<<2, 128>>>(in.get(), 200, out.get(), count.get());
  CHECK(cudaGetLastError());
  long expected_sum = 0, sum = 0;
  int expected = 0;
  for (const int value : values) {
    if (value % 2 == 0) ++expected, expected_sum += value;
  }
  for (const int value : out.host()) sum += value;
  return suite::verdict(count.host()[0] == expected && sum == expected_sum);
}
