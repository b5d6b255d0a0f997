#include "emulator/cuda/lockstep_emulator/tensor_core.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/bfloat16.hpp"
#include "base/error.hpp"
#include "base/float16.hpp"
#include "base/text.hpp"
#include "emulator/engine/block_runner.hpp"

namespace lockstep::emulator {

namespace {

constexpr std::uint32_t kWholeWarp = 0xffffffffU;

BlockRunner& runner_of(const char* what) {
  require(current_thread() != nullptr, what, " works inside a kernel only");
  return BlockRunner::instance();
}

/// These instructions need all lanes: if one has ended, the result is undefined.
void mark_incomplete(const WarpMeeting& meeting) {
  for_each_lane(meeting.present, [&](std::uint32_t lane) { meeting.lanes[lane]->reads_undefined = true; });
}

struct MmaLane {
  float* d;
  const std::uint32_t* a;
  const std::uint32_t* b;
  const float* c;
};

/// Element `index` of a register that holds two of type S.
template <typename S>
float half_of(std::uint32_t pair, std::uint32_t index) {
  return to_float(S{static_cast<std::uint16_t>(index == 0 ? pair : pair >> 16)});
}

/// Row and column of a lane's element `index` of c and d.
std::pair<std::uint32_t, std::uint32_t> place_in_c(std::uint32_t lane, std::uint32_t index) {
  return {lane / 4 + index / 2 * 8, lane % 4 * 2 + index % 2};
}

template <typename S>
void finish_mma(WarpMeeting& meeting) {
  if (meeting.present != kWholeWarp) return mark_incomplete(meeting);
  std::array<std::array<float, 16>, 16> a;
  std::array<std::array<float, 8>, 16> b;
  std::array<std::array<float, 8>, 16> d;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const auto& own = *static_cast<const MmaLane*>(meeting.lanes[lane]->value);
    const std::uint32_t g = lane / 4, t = lane % 4;
    for (std::uint32_t index = 0; index < 8; ++index) {
      a[g + index / 2 % 2 * 8][t * 2 + index % 2 + index / 4 * 8] = half_of<S>(own.a[index / 2], index % 2);
    }
    for (std::uint32_t index = 0; index < 4; ++index) {
      b[t * 2 + index % 2 + index / 2 * 8][g] = half_of<S>(own.b[index / 2], index % 2);
      const auto [row, column] = place_in_c(lane, index);
      d[row][column] = own.c[index];
    }
  }
  for (std::uint32_t row = 0; row < 16; ++row) {
    for (std::uint32_t k = 0; k < 16; ++k) {
      for (std::uint32_t column = 0; column < 8; ++column) d[row][column] += a[row][k] * b[k][column];
    }
  }
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t index = 0; index < 4; ++index) {
      const auto [row, column] = place_in_c(lane, index);
      static_cast<const MmaLane*>(meeting.lanes[lane]->value)->d[index] = d[row][column];
    }
  }
}

struct LoadLane {
  std::uint32_t* fragments;
  const void* row;
};

/// LaneCall::argument is the number of matrices.
template <MatrixOrder kOrder>
void finish_load(WarpMeeting& meeting) {
  if (meeting.present != kWholeWarp) return mark_incomplete(meeting);
  const std::uint32_t matrices = meeting.lanes[0]->argument;
  for (std::uint32_t matrix = 0; matrix < matrices; ++matrix) {
    std::array<std::array<std::uint16_t, 8>, 8> values;
    for (std::uint32_t row = 0; row < 8; ++row) {
      const auto& lane = *static_cast<const LoadLane*>(meeting.lanes[matrix * 8 + row]->value);
      std::memcpy(values[row].data(), lane.row, sizeof values[row]);
    }
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      const std::uint32_t g = lane / 4, t = lane % 4;
      const bool is_transposed = kOrder == MatrixOrder::kTransposed;
      const std::uint32_t low = is_transposed ? values[2 * t][g] : values[g][2 * t];
      const std::uint32_t high = is_transposed ? values[2 * t + 1][g] : values[g][2 * t + 1];
      static_cast<const LoadLane*>(meeting.lanes[lane]->value)->fragments[matrix] = low | high << 16;
    }
  }
}

const WarpOperation kMmaBFloat16{"mma_m16n8k16_bf16", &finish_mma<BFloat16>};
const WarpOperation kMmaFloat16{"mma_m16n8k16_f16", &finish_mma<Float16>};
const WarpOperation kLoadRows{"ldmatrix", &finish_load<MatrixOrder::kRows>};
const WarpOperation kLoadTransposed{"ldmatrix (transposed)", &finish_load<MatrixOrder::kTransposed>};

void meet_for_mma(const WarpOperation& operation, MmaLane lane, SourcePlace at) {
  LaneCall call;
  call.value = &lane;
  runner_of("mma").meet(operation, kWholeWarp, 0, call, at);
}

void require_alignment(BlockRunner& runner, const char* what, const void* address, std::size_t bytes, SourcePlace at) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  current_thread()->waiting_at = at;
  runner.end_kernel({EngineFindingKind::kMisalignedAddress,
                     concat(what, " at an address that is not a multiple of ", bytes),
                     at,
                     {{current_thread()->thread_idx, at, "runs"}}});
}

/// Performs the copy. Until the thread waits, no one may rely on it, and the observer is informed only then.
void land(BlockRunner& runner, const PendingCopy& copy) {
  if (Observer* const observer = runner.kernel().observer()) {
    observer->copy_async_landed(copy.to, copy.from, copy.bytes, copy.read_bytes, copy.place);
  }
  std::memcpy(copy.to, copy.from, copy.read_bytes);
  std::memset(static_cast<std::byte*>(copy.to) + copy.read_bytes, 0, copy.bytes - copy.read_bytes);
}

}  // namespace

void mma_m16n8k16_bf16(float* d, const std::uint32_t* a, const std::uint32_t* b, const float* c, SourcePlace at) {
  meet_for_mma(kMmaBFloat16, {d, a, b, c}, at);
}

void mma_m16n8k16_f16(float* d, const std::uint32_t* a, const std::uint32_t* b, const float* c, SourcePlace at) {
  meet_for_mma(kMmaFloat16, {d, a, b, c}, at);
}

void load_matrix(std::uint32_t* fragments, int matrices, MatrixOrder order, const void* row, SourcePlace at) {
  BlockRunner& runner = runner_of("ldmatrix");
  constexpr std::size_t kRowBytes = 16;
  if (current_thread()->lane < static_cast<std::uint32_t>(matrices) * 8) {  // other lanes' addresses are ignored
    require_alignment(runner, "ldmatrix", row, kRowBytes, at);
    if (Observer* const observer = runner.kernel().observer()) observer->access(row, kRowBytes, false, at);
  }
  LoadLane lane{fragments, row};
  LaneCall call;
  call.value = &lane;
  call.argument = static_cast<std::uint32_t>(matrices);
  const auto width =
      static_cast<std::size_t>(matrices);  // lanes that load a different number of matrices do not meet these
  runner.meet(order == MatrixOrder::kRows ? kLoadRows : kLoadTransposed, kWholeWarp, width, call, at);
}

void copy_async(void* to, const void* from, std::size_t bytes, std::size_t read_bytes, SourcePlace at) {
  BlockRunner& runner = runner_of("cp.async");
  require_alignment(runner, "cp.async to shared memory", to, bytes, at);
  if (read_bytes > 0) require_alignment(runner, "cp.async from global memory", from, bytes, at);
  if (Observer* const observer = runner.kernel().observer()) observer->copy_async_issued(to, from, bytes, at);
  ThreadRun& run = runner.threads().current_run();
  run.copies.push_back({to, from, static_cast<std::uint32_t>(bytes),
                        static_cast<std::uint32_t>(std::min(read_bytes, bytes)), run.committed_groups, at});
}

void copy_async_commit() { ++runner_of("cp.async").threads().current_run().committed_groups; }

void copy_async_wait(unsigned most_pending) {
  BlockRunner& runner = runner_of("cp.async");
  ThreadRun& run = runner.threads().current_run();
  const auto is_pending = [&](const PendingCopy& copy) { return copy.group + most_pending >= run.committed_groups; };
  const auto first_pending = std::ranges::find_if(run.copies, is_pending);
  for (auto copy = run.copies.begin(); copy != first_pending; ++copy) land(runner, *copy);
  run.copies.erase(run.copies.begin(), first_pending);
}

}  // namespace lockstep::emulator
