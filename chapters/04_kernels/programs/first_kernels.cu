// Which thread writes which element: three kernels whose threads write down
// their block and their number within it.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

struct Place {
  unsigned block_x, block_y, thread_x, thread_y;
};

__device__ Place own_place() { return {blockIdx.x, blockIdx.y, threadIdx.x, threadIdx.y}; }

// An element for each thread. The last block may have threads to spare.
__global__ void one_each(Place* places, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) places[i] = own_place();
}

// Any number of elements for any number of threads: a grid-stride loop.
__global__ void in_turns(Place* places, int count) {
  const int all_threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += all_threads) {
    places[i] = own_place();
  }
}

// Elements of a matrix [rows, columns], stored row by row.
__global__ void in_tiles(Place* places, int rows, int columns) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && column < columns) places[row * columns + column] = own_place();
}

std::vector<Place> fetch(const Place* device_places, int count) {
  std::vector<Place> places(count);
  cudaMemcpy(places.data(), device_places, count * sizeof(Place), cudaMemcpyDeviceToHost);
  return places;
}

void print_row(const std::vector<Place>& places) {
  std::printf("element");
  for (std::size_t i = 0; i < places.size(); ++i) std::printf("%3zu", i);
  std::printf("\nblock  ");
  for (const Place& place : places) std::printf("%3u", place.block_x);
  std::printf("\nthread ");
  for (const Place& place : places) std::printf("%3u", place.thread_x);
  std::printf("\n");
}

void print_matrix(const std::vector<Place>& places, int columns) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    std::printf("(%u,%u)/(%u,%u)", place.block_x, place.block_y, place.thread_x, place.thread_y);
    std::printf(i % columns == columns - 1U ? "\n" : "  ");
  }
}

int main() {
  constexpr int kCount = 10, kThreads = 4, kBlocks = (kCount + kThreads - 1) / kThreads;
  constexpr int kRows = 3, kColumns = 4;
  if (int gpus = 0; cudaGetDeviceCount(&gpus) != cudaSuccess) {
    std::fputs("first_kernels: no NVIDIA GPU here; ./lockstep emulate needs none\n", stderr);
    return 77;
  }
  Place* device_places = nullptr;
  cudaMalloc(&device_places, kRows * kColumns * sizeof(Place));  // the largest of the three

  one_each<<<kBlocks, kThreads>>>(device_places, kCount);
  std::printf("one_each: %d elements, %d blocks of %d threads: %d threads\n", kCount, kBlocks, kThreads,
              kBlocks * kThreads);
  print_row(fetch(device_places, kCount));

  in_turns<<<1, kThreads>>>(device_places, kCount);
  std::printf("\nin_turns: %d elements, 1 block of %d threads\n", kCount, kThreads);
  print_row(fetch(device_places, kCount));

  in_tiles<<<dim3(2, 2), dim3(2, 2)>>>(device_places, kRows, kColumns);
  std::printf("\nin_tiles: %d rows of %d columns, 2 x 2 blocks of 2 x 2 threads;\n(block x,y)/(thread x,y)\n", kRows, kColumns);
  print_matrix(fetch(device_places, kRows * kColumns), kColumns);
  cudaFree(device_places);
}
