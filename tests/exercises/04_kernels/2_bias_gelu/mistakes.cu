#include "04_kernels/2_bias_gelu/bias_gelu.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_loop", "each thread processes one group at most, so large arrays are left unfinished",
     "A thread goes on with the group that lies gridDim.x * blockDim.x further on, as long as there is one."},
    {"steps_of_a_block", "a thread goes on blockDim.x groups further, where the next block's threads have begun",
     "The step is the number of threads of the whole grid: gridDim.x * blockDim.x."},
    {"consecutive_groups",
     "each thread processes a stretch of consecutive groups, so the lanes of a warp are far apart",
     "Begin at the thread's number in the grid, and go on in steps of all threads."},
    {"bias_of_row", "the bias is chosen by the row instead of the column",
     "i / groups_per_row is the row of group i. What is its place within the row?"},
    {"bias_not_repeated",
     "the bias is indexed beyond its one row of columns / 4 groups, like the matrix or by a remainder that counts "
     "floats",
     "The remainder i % (columns / 4) begins again with each row."},
    {"counts_floats", "the loop ends at rows * columns, which counts floats, while its index counts groups of four",
     "How many float4 are there in rows * columns floats?"},
    {"bias_after_gelu", "the bias is added to GELU's result instead of its argument", "gelu(x + b), not gelu(x) + b."},
    {"single_floats", "the floats are loaded and stored one at a time",
     "in4[i] loads four floats with one instruction."},
    {"two_passes", "the sums are written to memory and read again for GELU",
     "Apply gelu() to the sum while it is in a register, and store the result alone."},
    {"first_bias_for_all_four", "all four floats of a group get the bias of the first",
     "The bias of a group is a float4, too: its x, y, z and w belong to four columns."},
    {"gelu_left_out", "one of the four sums is stored without GELU", "gelu() for x, y, z and w."},
    {"ignores_block", "every block begins at its own thread numbers, so all blocks process the same groups",
     "A thread's number in the grid is blockIdx.x * blockDim.x + threadIdx.x."},
    {"steps_of_blocks", "the step of the loop is gridDim.x, the number of blocks",
     "The step is the number of threads of the whole grid: gridDim.x * blockDim.x."},
    {"guard_includes_count", "the loop admits i == groups, one group too many",
     "The last group has the number groups - 1."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

namespace {

using exercise::is_mistake;

constexpr int kThreads = 256;

// Kernels cannot ask is_mistake(): they are told.
struct Faults {
  bool no_loop, steps_of_a_block, consecutive_groups, bias_of_row, bias_not_repeated, counts_floats, bias_after_gelu,
      first_bias_for_all_four, gelu_left_out, ignores_block, steps_of_blocks, guard_includes_count;
};

__device__ float gelu(float x) { return 0.5F * x * (1.0F + tanhf(0.7978845608F * (x + 0.044715F * x * x * x))); }

__device__ float activated(float x, float bias, const Faults& faults) {
  return faults.bias_after_gelu ? gelu(x) + bias : gelu(x + bias);
}

__global__ void bias_gelu_kernel(float* out, const float* in, const float* bias, int rows, int columns, Faults faults) {
  const int groups_per_row = columns / 4, groups = rows * groups_per_row;
  int begin = blockIdx.x * blockDim.x + threadIdx.x, end = faults.counts_floats ? 4 * groups : groups;
  int step = faults.steps_of_a_block ? blockDim.x : gridDim.x * blockDim.x;
  if (faults.ignores_block) begin = threadIdx.x;
  if (faults.steps_of_blocks) step = gridDim.x;
  if (faults.guard_includes_count) ++end;
  if (faults.consecutive_groups) {
    const int share = (groups + step - 1) / step;
    begin *= share;
    end = min(begin + share, groups);
    step = 1;
  }
  for (int i = begin; i < end; i += step) {
    int column = i % groups_per_row;
    if (faults.bias_of_row) column = i / groups_per_row;
    if (faults.bias_not_repeated) column = i;
    const float4 x = reinterpret_cast<const float4*>(in)[i];
    float4 b = reinterpret_cast<const float4*>(bias)[column];
    if (faults.first_bias_for_all_four) b = make_float4(b.x, b.x, b.x, b.x);
    reinterpret_cast<float4*>(out)[i] =
        make_float4(activated(x.x, b.x, faults), activated(x.y, b.y, faults), activated(x.z, b.z, faults),
                    faults.gelu_left_out ? x.w + b.w : activated(x.w, b.w, faults));
    if (faults.no_loop) return;
  }
}

__global__ void single_floats_kernel(float* out, const float* in, const float* bias, int rows, int columns) {
  const int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * columns; i += step)
    out[i] = gelu(in[i] + bias[i % columns]);
}

__global__ void two_passes_kernel(float* out, const float* in, const float* bias, int groups, int groups_per_row) {
  const int begin = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  auto* const out4 = reinterpret_cast<float4*>(out);
  for (int i = begin; i < groups; i += step) {
    const float4 x = reinterpret_cast<const float4*>(in)[i];
    const float4 b = reinterpret_cast<const float4*>(bias)[i % groups_per_row];
    out4[i] = make_float4(x.x + b.x, x.y + b.y, x.z + b.z, x.w + b.w);
  }
  for (int i = begin; i < groups; i += step) {
    const float4 x = out4[i];
    out4[i] = make_float4(gelu(x.x), gelu(x.y), gelu(x.z), gelu(x.w));
  }
}

}  // namespace

void bias_gelu(float* out, const float* in, const float* bias, int rows, int columns, int blocks, cudaStream_t stream) {
  if (is_mistake("single_floats")) {
    single_floats_kernel<<<blocks, kThreads, 0, stream>>>(out, in, bias, rows, columns);
    return;
  }
  if (is_mistake("two_passes")) {
    two_passes_kernel<<<blocks, kThreads, 0, stream>>>(out, in, bias, rows * columns / 4, columns / 4);
    return;
  }
  const Faults faults{
      is_mistake("no_loop"),         is_mistake("steps_of_a_block"),        is_mistake("consecutive_groups"),
      is_mistake("bias_of_row"),     is_mistake("bias_not_repeated"),       is_mistake("counts_floats"),
      is_mistake("bias_after_gelu"), is_mistake("first_bias_for_all_four"), is_mistake("gelu_left_out"),
      is_mistake("ignores_block"),   is_mistake("steps_of_blocks"),         is_mistake("guard_includes_count")};
  bias_gelu_kernel<<<blocks, kThreads, 0, stream>>>(out, in, bias, rows, columns, faults);
}

}  // namespace lockstep::kernels
