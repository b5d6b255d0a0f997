// DERIVES FROM chapters/04_kernels/programs/softmax_cpu.cpp new<=18 changed<=4
// Softmax of five rows on a GPU: all rows at a time, and in each one value  // CHANGED
// after the other.
#include <cuda_runtime.h>  // NEW

#include <cmath>
#include <cstdio>
#include <vector>

// out [rows, columns]: the exponential of each value of in, as a share of its
// row's sum. All are taken relative to the row's largest, so none overflows.
// CHANGED: a kernel: every thread of the grid runs it.
__global__ void softmax(float* out, const float* in, int rows, int columns) {  // CHANGED
  // NEW: a thread finds its row by its number; the last block may have more threads than rows.
  const int row = blockIdx.x * blockDim.x + threadIdx.x;  // NEW
  if (row < rows) {  // CHANGED
    const float* x = in + row * columns;
    float* y = out + row * columns;
    float largest = x[0];
    for (int i = 1; i < columns; ++i) largest = fmaxf(largest, x[i]);
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += expf(x[i] - largest);
    for (int i = 0; i < columns; ++i) y[i] = expf(x[i] - largest) / sum;
  }
}

int main() {
  constexpr int kRows = 5, kColumns = 4, kCount = kRows * kColumns;
  std::vector<float> in(kCount), out(kCount);
  for (int i = 0; i < kCount; ++i) in[i] = 0.5F * static_cast<float>(i % 7);

  // NEW: every call returns an error code; that of this one tells whether there is a GPU.
  if (int gpus = 0; cudaGetDeviceCount(&gpus) != cudaSuccess) {  // NEW
    std::fputs("softmax_gpu: no NVIDIA GPU here; ./lockstep emulate needs none\n", stderr);  // NEW
    return 77;  // NEW
  }  // NEW
  // NEW: a kernel reaches the GPU's memory, not the processor's.
  float *device_in, *device_out;  // NEW
  cudaMalloc(&device_in, kCount * sizeof(float));  // NEW
  cudaMalloc(&device_out, kCount * sizeof(float));  // NEW
  cudaMemcpy(device_in, in.data(), kCount * sizeof(float), cudaMemcpyHostToDevice);  // NEW
  // CHANGED: 2 blocks of 4 threads. The call does not wait for the kernel; the copy below does.
  softmax<<<2, 4>>>(device_out, device_in, kRows, kColumns);  // CHANGED
  cudaMemcpy(out.data(), device_out, kCount * sizeof(float), cudaMemcpyDeviceToHost);  // NEW
  cudaFree(device_in);  // NEW
  cudaFree(device_out);  // NEW

  for (int i = 0; i < kCount; ++i) {
    std::printf("%.4f%s", out[i], i % kColumns == kColumns - 1 ? "\n" : " ");
  }
}
