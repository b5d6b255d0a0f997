#include "04_kernels/4_transpose/transpose.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_tile", "each thread stores the element that it has loaded, so a warp reads a row and writes a column",
     "Exchange the elements through a tile in shared memory, so that the output is written by rows, too."},
    {"no_tile_by_columns",
     "each thread stores the element that it has loaded, so a warp reads a column and writes a row",
     "Exchange the elements through a tile in shared memory, so that the input is read by rows, too."},
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
    {"unswapped_guard", "in the second loop the output's column is compared with columns, and its row with rows",
     "The output has `columns` rows of `rows` elements: out[y * rows + x] is there if x < rows and y < columns."},
    {"one_row_each", "each thread transposes one element, so 24 of the 32 rows of a tile are left out",
     "A block has 8 rows of threads for 32 rows of the tile: loop over y in steps of kThreadRows."},
    {"no_guard", "elements beyond the edges are read and written, too",
     "Only access elements with row < rows and column < columns, in both loops."},
    {"barrier_in_branch",
     "the barrier is only for threads whose column is within the matrix: it stands in their branch, or the others "
     "return "
     "before it",
     "Every thread of the block must reach __syncthreads(): guard the accesses alone, and let all threads wait."},
    {"elements_stay", "the tile goes to the opposite place, but its elements are stored as they were loaded",
     "Row y of the output's tile is column y of the tile in shared memory: tile[x][y]."},
    {"grid_swapped", "the grid counts tiles down the rows in x and along the columns in y",
     "blockIdx.x counts tiles along the columns, because it chooses the column in the kernel."},
    {"rounds_tiles_down", "the grid has no blocks for the tiles that the matrix fills only in part",
     "Round up: (columns + kTile - 1) / kTile, and the same for rows."},
    {"square_block", "the block has 32 rows of threads (32 x 32 or 8 x 32), and the loop still goes in steps of 8 rows",
     "Launch dim3(kTile, kThreadRows): each thread has 4 rows. Otherwise threads repeat each other's rows."},
    {"transposes_with_the_store", "the tile is read by rows and stored down the columns of the output",
     "The detour helps only if the store is along a row: neighbouring lanes read a column of the tile."},
    {"warp_barrier", "the barrier between the two loops is one of a warp, __syncwarp()",
     "A thread reads what other warps have written: only __syncthreads() waits for those."},
    {"guard_swapped", "the comparison with the edges takes rows for columns where the element is loaded",
     "The row that a thread loads is compared with rows, its column with columns."},
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
  bool no_barrier, bank_conflicts, tile_stays, old_width, old_guard, one_row_each, no_guard, barrier_in_branch,
      elements_stay, transposes_with_the_store, guard_swapped, warp_barrier, unswapped_guard;
};

__global__ void naive_kernel(float* out, const float* in, int rows, int columns) {
  const int column = blockIdx.x * kTile + threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int row = blockIdx.y * kTile + y;
    if (row < rows && column < columns) out[column * rows + row] = in[row * columns + column];
  }
}

__global__ void by_columns_kernel(float* out, const float* in, int rows, int columns) {
  const int row = blockIdx.x * kTile + threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int column = blockIdx.y * kTile + y;
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
    if (faults.guard_swapped && (row >= columns || column >= rows)) continue;
    if (faults.no_guard || faults.guard_swapped || (row < rows && column < columns))
      words[y * pitch + x] = in[row * columns + column];
  }
  if (faults.barrier_in_branch) {
    if (first_column + x < columns) __syncthreads();
  } else if (faults.warp_barrier) {
    __syncwarp();
  } else if (!faults.no_barrier) {
    __syncthreads();
  }
  for (int y = threadIdx.y; y < end; y += kThreadRows) {
    int row = first_row + x, column = first_column + y;
    if (faults.tile_stays) row = first_column + x, column = first_row + y;
    bool is_inside = row < rows && column < columns;
    if (faults.old_guard) is_inside = first_row + y < rows && first_column + x < columns;
    if (faults.unswapped_guard) is_inside = row < columns && column < rows;
    int word = x * pitch + y;
    if (faults.elements_stay) word = y * pitch + x;
    if (faults.transposes_with_the_store) {
      row = first_row + y, column = first_column + x, word = y * pitch + x;
      is_inside = row < rows && column < columns;
    }
    if (is_inside || faults.no_guard) out[column * (faults.old_width ? columns : rows) + row] = words[word];
  }
}

}  // namespace

void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const int rounding = is_mistake("rounds_tiles_down") ? 0 : kTile - 1;
  dim3 tiles((columns + rounding) / kTile, (rows + rounding) / kTile);
  if (is_mistake("grid_swapped")) tiles = dim3(tiles.y, tiles.x);
  const dim3 threads(kTile, is_mistake("square_block") ? kTile : kThreadRows);
  if (is_mistake("no_tile")) {
    naive_kernel<<<tiles, threads, 0, stream>>>(out, in, rows, columns);
    return;
  }
  if (is_mistake("no_tile_by_columns")) {
    by_columns_kernel<<<dim3(tiles.y, tiles.x), threads, 0, stream>>>(out, in, rows, columns);
    return;
  }
  const Faults faults{is_mistake("no_barrier"),     is_mistake("bank_conflicts"),
                      is_mistake("tile_stays"),     is_mistake("old_width"),
                      is_mistake("old_guard"),      is_mistake("one_row_each"),
                      is_mistake("no_guard"),       is_mistake("barrier_in_branch"),
                      is_mistake("elements_stay"),  is_mistake("transposes_with_the_store"),
                      is_mistake("guard_swapped"),  is_mistake("warp_barrier"),
                      is_mistake("unswapped_guard")};
  transpose_kernel<<<tiles, threads, 0, stream>>>(out, in, rows, columns, faults);
}

}  // namespace lockstep::kernels
