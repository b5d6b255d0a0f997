// Two arrays take turns; the field is a torus, so every index is inside.
#include "../suite.cuh"

__global__ void step(const unsigned char* now, unsigned char* next, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= width) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx != 0 || dy != 0) alive += now[(y + dy + width) % width * width + (x + dx + width) % width];
    }
  }
  next[y * width + x] = alive == 3 || (alive == 2 && now[y * width + x] != 0) ? 1 : 0;
}

int main() {
  const int width = 12;
  std::vector<unsigned char> field(width * width);
  for (const int cell : {1, width + 2, 2 * width, 2 * width + 1, 2 * width + 2}) field[cell] = 1;
  suite::Array<unsigned char> a(field), b(width * width);
  for (int round = 0; round < 4; ++round) {
    const bool is_even = round % 2 == 0;
    step<<<dim3(2, 2), dim3(8, 8)>>>(is_even ? a.get() : b.get(), is_even ? b.get() : a.get(), width);
  }
  CHECK(cudaGetLastError());
  std::vector<unsigned char> moved(width * width);  // after four steps a glider has moved by one cell each way
  for (int i = 0; i < width * width; ++i) {
    if (field[i] != 0) moved[i + width + 1] = 1;
  }
  return suite::verdict(a.host() == moved);
}
