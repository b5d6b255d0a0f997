#include "04_kernels/4_transpose/transpose.hpp"

namespace lockstep::kernels {

namespace {

constexpr int kTile = 32;       // rows and columns of the piece that a block transposes
constexpr int kThreadRows = 8;  // a block has 32 x 8 threads, and each thread 4 elements of the tile

// Block (x, y) transposes the tile whose first element is in[y * kTile, x * kTile]. Tiles at the right and lower edges
// of the matrix may reach beyond it.
__global__ void transpose_kernel(float* out, const float* in, int rows, int columns) {
  // TODO(04.4): read a tile by rows into shared memory, then write it by rows of the output; mind banks and edges
}

}  // namespace

void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  // TODO(04.4): launch the kernel with a block of kTile x kThreadRows threads for each tile
  lockstep::todo("04.4 transpose");
}

}  // namespace lockstep::kernels
