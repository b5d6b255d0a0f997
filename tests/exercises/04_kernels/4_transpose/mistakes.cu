#include "04_kernels/4_transpose/transpose.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_tile", "each thread stores the element that it has loaded, so a warp reads a row and writes a column",
     "Exchange the elements through a tile in shared memory, so that the output is written by rows, too."},
    {"no_barrier", "there is no barrier between writing the tile and reading it",
     "A thread reads what other warps have written: __syncthreads() goes between the two loops."},
    {"bank_conflicts", "the tile's rows are 32 words long, so all words of a column lie in the same bank",
     "Word i of shared memory lies in bank i % 32. Make the rows 33 words long."},
    {"tile_stays", "each tile is transposed, but written where it was read instead of to the opposite place",
     "The tile in row 0, column 1 of the input belongs to row 1, column 0 of the output."},
    {"old_width", "the output is indexed as if its rows were as long as the input's",
     "A row of the output has `rows` elements: out[column * rows + row]."},
    {"old_guard",
     "the comparison with the edges still uses the element that the thread has read, not the one it writes",
     "In the second loop the lane stands for a row of the input and y for a column: compare those."},
    {"one_row_each", "each thread transposes one element, so 24 of the 32 rows of a tile are left out",
     "A block has 8 rows of threads for 32 rows of the tile: loop over y in steps of kThreadRows."},
    {"no_guard", "elements beyond the edges are read and written, too",
     "Only access elements with row < rows and column < columns, in both loops."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

namespace {

using exercise::is_mistake;

constexpr int kTile = 32, kThreadRows = 8;

// Kernels cannot ask is_mistake(): they are told.
struct Faults {
  bool no_barrier, bank_conflicts, tile_stays, old_width, old_guard, one_row_each, no_guard;
};

__global__ void naive_kernel(float* out, const float* in, int rows, int columns) {
  const int column = blockIdx.x * kTile + threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int row = blockIdx.y * kTile + y;
    if (row < rows && column < columns) out[column * rows + row] = in[row * columns + column];
  }
}

__global__ void transpose_kernel(float* out, const float* in, int rows, int columns, Faults faults) {
  __shared__ float words[kTile * (kTile + 1)];
  const int pitch = faults.bank_conflicts ? kTile : kTile + 1;
  const int first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile, x = threadIdx.x;
  const int end = faults.one_row_each ? kThreadRows : kTile;
  for (int y = threadIdx.y; y < end; y += kThreadRows) {
    const int row = first_row + y, column = first_column + x;
    if (faults.no_guard || (row < rows && column < columns)) words[y * pitch + x] = in[row * columns + column];
  }
  if (!faults.no_barrier) __syncthreads();
  for (int y = threadIdx.y; y < end; y += kThreadRows) {
    int row = first_row + x, column = first_column + y;
    if (faults.tile_stays) row = first_column + x, column = first_row + y;
    bool is_inside = row < rows && column < columns;
    if (faults.old_guard) is_inside = first_row + y < rows && first_column + x < columns;
    if (faults.one_row_each) is_inside = is_inside && x < end;
    if (is_inside || faults.no_guard) out[column * (faults.old_width ? columns : rows) + row] = words[x * pitch + y];
  }
}

}  // namespace

void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 tiles((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile), threads(kTile, kThreadRows);
  if (is_mistake("no_tile")) {
    naive_kernel<<<tiles, threads, 0, stream>>>(out, in, rows, columns);
    return;
  }
  const Faults faults{is_mistake("no_barrier"), is_mistake("bank_conflicts"), is_mistake("tile_stays"),
                      is_mistake("old_width"),  is_mistake("old_guard"),      is_mistake("one_row_each"),
                      is_mistake("no_guard")};
  transpose_kernel<<<tiles, threads, 0, stream>>>(out, in, rows, columns, faults);
}

}  // namespace lockstep::kernels
