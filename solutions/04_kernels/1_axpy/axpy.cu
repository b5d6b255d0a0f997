#include "04_kernels/1_axpy/axpy.hpp"

namespace lockstep::kernels {

namespace {

constexpr int kThreads = 256;  // per block

// Every thread runs this function, and is responsible for one element.
__global__ void axpy_kernel(float* y, float a, const float* x, int count) {
  // SOLUTION(04.1): find this thread's element; if it exists, add a times x to y there
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += a * x[i];
  // END SOLUTION
}

}  // namespace

void axpy(float* y, float a, const float* x, int count, cudaStream_t stream) {
  if (count == 0) return;
  // SOLUTION(04.1) axpy: launch the kernel in this stream, with blocks of kThreads threads, and enough of them
  const int blocks = (count + kThreads - 1) / kThreads;  // rounded up: the last block may have threads to spare
  axpy_kernel<<<blocks, kThreads, 0, stream>>>(y, a, x, count);
  // END SOLUTION
}

}  // namespace lockstep::kernels
