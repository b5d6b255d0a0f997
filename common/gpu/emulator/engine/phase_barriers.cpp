#include "emulator/engine/phase_barriers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "emulator/engine/swizzled_tile.hpp"

namespace lockstep::emulator {

namespace {

std::string_view base_name(const char* file) {
  const std::string_view path = file == nullptr ? "" : file;
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string missing_text(unsigned arrivals, long long bytes) {
  if (bytes < 0) return concat("got ", -bytes, " bytes more than it was told to expect");
  std::string text = "lacks ";
  if (arrivals > 0) text += concat(arrivals, arrivals == 1 ? " arrival" : " arrivals");
  if (bytes > 0) text += concat(arrivals > 0 ? " and " : "", bytes, " bytes");
  return arrivals == 0 && bytes == 0 ? "is not the phase that they wait for" : text;
}

/// One row of a tile: 64 elements, zeros outside of the matrix.
void copy_row(const PendingTile& copy, int tile_row, Observer* observer) {
  auto* const to = static_cast<std::byte*>(copy.tile) + static_cast<std::size_t>(tile_row) * kTileRowBytes;
  const int row = copy.row + tile_row, first = std::max(copy.column, 0);
  const int last = row < 0 || row >= copy.map.rows ? first : std::min(copy.column + kTileColumns, copy.map.columns);
  const auto count = static_cast<std::size_t>(std::max(last - first, 0));
  std::array<std::uint16_t, kTileColumns> values{};
  const auto* from = static_cast<const std::uint16_t*>(copy.map.matrix);
  if (count > 0) from += static_cast<std::ptrdiff_t>(row) * copy.map.columns + first;
  const std::size_t bytes = count * sizeof(std::uint16_t);
  if (observer != nullptr) observer->tile_row_landed(to, kTileRowBytes, from, bytes, copy.place);
  if (count > 0) std::memcpy(values.data() + (first - copy.column), from, bytes);
  for (std::size_t offset = 0; offset < kTileRowBytes; offset += 16) {
    std::memcpy(to + swizzled(static_cast<std::size_t>(tile_row), offset),
                reinterpret_cast<const std::byte*>(values.data()) + offset, 16);
  }
}

long long bytes_of(const PendingTile& copy) { return copy.map.tile_rows * static_cast<long long>(kTileRowBytes); }

}  // namespace

void PhaseBarriers::end_kernel(EngineFindingKind kind, std::string message, SourcePlace at) {
  ThreadState& thread = threads_.current_state();
  thread.waiting_at = at;
  kernel_.report({kind, std::move(message), at, {{thread.thread_idx, at, "runs"}}, true});
  threads_.abandon();
}

void PhaseBarriers::order(const void* barrier, BarrierStep step, SourcePlace at) {
  if (Observer* const observer = kernel_.observer()) observer->phase_barrier(barrier, step, at);
}

PhaseBarriers::Barrier& PhaseBarriers::find(void* barrier, const char* what, SourcePlace at) {
  const auto found = barriers_.find({current_block()->linear, barrier});
  if (found != barriers_.end()) return found->second;
  end_kernel(EngineFindingKind::kMisusedBarrier, concat(what, " an mbarrier that this block has not initialised"), at);
}

void PhaseBarriers::init(void* barrier, unsigned arrivals, SourcePlace at) {
  order(barrier, BarrierStep::kInit, at);
  Barrier& made = barriers_[{current_block()->linear, barrier}];
  if (!made.waiting.empty()) {
    end_kernel(EngineFindingKind::kMisusedBarrier, "initialises an mbarrier while threads wait at it", at);
  }
  made = {};
  made.arrivals = made.missing = arrivals;
  made.made_by = threads_.current_state().linear;
  made.place = at;
}

void PhaseBarriers::fence() noexcept {
  const std::uint64_t block = current_block()->linear;
  for (auto each = barriers_.lower_bound({block, nullptr}); each != barriers_.end() && each->first.first == block;
       ++each) {
    if (each->second.made_by == threads_.current_state().linear) each->second.is_fenced = true;
  }
}

void PhaseBarriers::arrive(void* barrier, unsigned bytes, SourcePlace at) {
  Barrier& reached = find(barrier, "arrives at", at);
  order(barrier, BarrierStep::kPublish, at);
  if (reached.missing == 0) {
    end_kernel(EngineFindingKind::kMisusedBarrier,
               concat("arrives at an mbarrier whose phase already has its ", reached.arrivals,
                      " arrivals: nobody has waited until it ended"),
               at);
  }
  reached.bytes += bytes;
  --reached.missing;
  end_phase_if_complete(reached);
}

void PhaseBarriers::end_phase_if_complete(Barrier& barrier) {
  if (barrier.missing > 0) return;
  if (!barrier.copies.empty()) return wake(barrier);  // one that waits performs them
  if (barrier.bytes != 0) return;
  ++barrier.phases;
  barrier.missing = barrier.arrivals;
  wake(barrier);
}

void PhaseBarriers::wake(Barrier& barrier) {
  for (const std::uint32_t thread : barrier.waiting) threads_.make_ready(thread);
  barrier.waiting.clear();
}

void PhaseBarriers::wait(void* barrier, unsigned parity, SourcePlace at) {
  Barrier& reached = find(barrier, "waits at", at);
  threads_.current_state().waiting_at = at;
  while (reached.phases % 2 == parity) {
    order(barrier, BarrierStep::kAcquire, at);
    if (reached.missing == 0 && !reached.copies.empty()) {
      land(reached);
      order(barrier, BarrierStep::kPublish, at);
      end_phase_if_complete(reached);
    } else {
      reached.waiting.push_back(threads_.current_state().linear);
      threads_.wait(WaitKind::kPhaseBarrier);
    }
  }
  order(barrier, BarrierStep::kAcquire, at);
}

void PhaseBarriers::land(Barrier& barrier) {
  for (const PendingTile& copy : std::exchange(barrier.copies, {})) {
    for (int row = 0; row < copy.map.tile_rows; ++row) copy_row(copy, row, kernel_.observer());
    barrier.bytes -= bytes_of(copy);
  }
}

void PhaseBarriers::add(const PendingTile& copy, void* barrier) {
  Barrier& counting = find(barrier, "a tile copy counts at", copy.place);
  if (reinterpret_cast<std::uintptr_t>(copy.tile) % kTileAlignment != 0) {
    end_kernel(EngineFindingKind::kMisalignedAddress,
               concat("a tile copy to an address that is not a multiple of ", kTileAlignment), copy.place);
  }
  if (Observer* const observer = kernel_.observer()) {
    if (!std::exchange(counting.is_fenced, true)) {
      kernel_.report({EngineFindingKind::kMissingFence,
                      "the thread that initialised the mbarrier has not called fence.proxy.async since",
                      copy.place,
                      {{threads_.current_state().thread_idx, copy.place, "copies a tile"}},
                      false});
    }
    observer->copy_async_issued(copy.tile, copy.map.matrix, static_cast<std::size_t>(bytes_of(copy)), copy.place);
  }
  order(barrier, BarrierStep::kPublish, copy.place);
  counting.copies.push_back(copy);
  if (counting.missing == 0) wake(counting);
}

std::string PhaseBarriers::describe_missing() const {
  std::string text;
  for (const auto& [where, barrier] : barriers_) {
    if (where.first != current_block()->linear || barrier.waiting.empty()) continue;
    text += concat("; phase ", barrier.phases, " of the mbarrier initialised at ", base_name(barrier.place.file), ":",
                   barrier.place.line, " ", missing_text(barrier.missing, barrier.bytes));
  }
  return text;
}

}  // namespace lockstep::emulator
