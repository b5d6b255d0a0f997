#include "emulator/checker/checker.hpp"

#include <cstring>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

#include "emulator/checker/finding_log.hpp"

namespace lockstep::emulator::checker {
namespace {

FindingKind kind_of(EngineFindingKind kind) {
  switch (kind) {
    case EngineFindingKind::kDeadlock:
      return FindingKind::kDeadlock;
    case EngineFindingKind::kBarrierAfterExit:
    case EngineFindingKind::kDivergentBarrier:
      return FindingKind::kDivergentBarrier;
    case EngineFindingKind::kWrongMask:
      return FindingKind::kWrongMask;
    case EngineFindingKind::kUndefinedLane:
      return FindingKind::kUndefinedLane;
    case EngineFindingKind::kStackOverflow:
      return FindingKind::kStackOverflow;
    case EngineFindingKind::kIllegalAddress:
      return FindingKind::kOutOfBounds;
    case EngineFindingKind::kException:
      return FindingKind::kException;
    case EngineFindingKind::kMisalignedAddress:
      return FindingKind::kMisaligned;
    case EngineFindingKind::kMisusedBarrier:
      return FindingKind::kMisusedBarrier;
    case EngineFindingKind::kMissingFence:
      return FindingKind::kMissingFence;
    case EngineFindingKind::kUnfinishedProduct:
      return FindingKind::kUnfinishedProduct;
  }
  return FindingKind::kException;
}

bool is_power_of_two(std::size_t bytes) { return (bytes & (bytes - 1)) == 0; }

// The 16-byte hooks also serve structures of two doubles, which need an alignment of 8.
bool is_misaligned(const void* address, std::size_t bytes) {
  const std::size_t needed = bytes < 8 ? bytes : 8;
  return is_power_of_two(bytes) && bytes <= 16 && reinterpret_cast<std::uintptr_t>(address) % needed != 0;
}

std::string_view name_of_file(const std::string& path) {
  return std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// A compiler's check and its debug information may spell the same path differently.
bool is_same(const FindingPlace& one, const FindingPlace& other) {
  return one.line == other.line && name_of_file(one.file) == name_of_file(other.file);
}

/// The problem with the address of an access, if any.
std::optional<FindingKind> address_problem(MemoryMap& memory, const Target& target, const void* address,
                                           std::size_t bytes, const Access& access) {
  if (target.space == Space::kHost) [[unlikely]] {
    const bool is_null = reinterpret_cast<std::uintptr_t>(address) < Sites::kFirstAddress;
    return is_null ? FindingKind::kNullPointer : FindingKind::kHostPointer;
  }
  if (!memory.is_allocated(target, address, bytes)) [[unlikely]] {
    const bool is_freed = target.space == Space::kGlobal && memory.is_freed(address);
    return is_freed ? FindingKind::kUseAfterFree : FindingKind::kOutOfBounds;
  }
  if ((access.is(kAtomic) || !access.is(kAnyAlignment)) && is_misaligned(address, bytes)) [[unlikely]]
    return FindingKind::kMisaligned;
  return std::nullopt;
}

}  // namespace

[[gnu::tls_model("initial-exec")]] thread_local Checker* Checker::running = nullptr;

Checker& Checker::instance() {
  static auto* const checker = new Checker;  // NOLINT: never destroyed, for launches of other threads at exit
  return *checker;
}

// Intervals are numbered anew: all memory counts as last used before any launch.
void Checker::start_over() {
  order_ = HappensBefore();
  streams_ = {};
  proxy_fences_ = {};
  memory_.forget_order();
}

// Without new intervals, what barriers order would be reported as races.
void Checker::stop_if_exhausted() {
  if (order_.intervals_left() != IntervalsLeft::kNone || !jobs_.rules) return;
  jobs_.rules = false;
  std::cerr << "emulated device: " << names_.kernel()
            << ": the checker cannot number more barriers and blocks of one launch; the rest of it is not checked\n";
}

void Checker::launch_begin(const KernelCall& call, int) {
  std::unique_lock lock(mutex_);
  if (order_.intervals_left() != IntervalsLeft::kMost) start_over();
  jobs_ = jobs();
  names_.set_kernel(&call);
  reports_.launch_begin();
  stream_checks_.launch_begin();
  memory_.refresh();
  running = this;
  lock.release();  // launch_end() unlocks
}

void Checker::launch_end() {
  const std::lock_guard unlock(mutex_, std::adopt_lock);
  running = nullptr;
  stream_checks_.launch_end();
  reports_.launch_end();
  names_.set_kernel(nullptr);
}

void Checker::block_begin(const BlockState& block) {
  skipped_ = nullptr;
  has_overflowed_.clear();
  order_.block_begin(block.linear, static_cast<std::uint32_t>(block.threads.size()));
  stop_if_exhausted();
  memory_.set_dynamic_shared(block.dynamic_shared);
  if (jobs_.metrics) counter_.block_begin(names_.kernel(), static_cast<std::uint32_t>(block.threads.size()));
}

// Counts all of it as initialised, even what the block has not written.
void Checker::block_resumed(const BlockState& block, std::span<const std::span<std::byte>> variables) {
  const Site site = names_.site_of(current_thread()->waiting_at);
  check(block.dynamic_shared.data(), block.dynamic_shared.size(), kWrite | kUncounted, site);
  for (const std::span<std::byte> variable : variables) {
    check(variable.data(), variable.size(), kWrite | kUncounted, site);
  }
}

void Checker::block_end() {
  reports_.block_end();
  if (jobs_.metrics) counter_.block_end();
}

void Checker::barrier_passed() {
  order_.barrier();
  stop_if_exhausted();
  if (!jobs_.metrics) return;
  const ThreadState* const thread = current_thread();
  counter_.count_barrier(
      names_.site_of(thread != nullptr ? thread->waiting_at : current_block()->threads[0].waiting_at));
}

void Checker::warp_met(std::uint32_t warp, std::uint32_t mask) { order_.warp_met(warp, mask); }
void Checker::fence(bool is_whole_device) { order_.fence(current_thread()->linear, is_whole_device); }

void Checker::atomic(const void* address, std::size_t bytes, const void* expected, SourcePlace place) {
  check_atomic(address, bytes, false, kAtomic | kWrite, names_.site_of(place), expected);
}

void Checker::access(const void* address, std::size_t bytes, bool is_write, SourcePlace place) {
  check(address, bytes, is_write ? kWrite : kPlainRead, names_.site_of(place));
}

// No one may access `to` until the copy lands, not even the issuing thread.
void Checker::copy_async_issued(void* to, const void*, std::size_t bytes, SourcePlace place) {
  check(to, bytes, kWrite | kPending | kUncounted, names_.site_of(place));
}

void Checker::copy_async_landed(void* to, const void* from, std::size_t bytes, std::size_t read_bytes,
                                SourcePlace place) {
  if (read_bytes > 0) check(from, read_bytes, kPlainRead, names_.site_of(place));
  check(to, bytes, kWrite, names_.site_of(place));
}

void Checker::phase_barrier(const void* barrier, BarrierStep step, SourcePlace place) {
  const std::uint32_t thread = current_thread()->linear;
  if (step == BarrierStep::kAcquire) order_.acquire(thread, barrier);
  if (step == BarrierStep::kPublish) order_.release(thread, barrier);
  const std::uint64_t flags = kWrite | kUncounted;
  check(barrier, sizeof(std::uint64_t), step == BarrierStep::kInit ? flags : flags | kAtomic, names_.site_of(place));
}

void Checker::tile_row_landed(void* to, std::size_t bytes, const void* from, std::size_t read_bytes,
                              SourcePlace place) {
  if (read_bytes > 0) check(from, read_bytes, kAnyAlignment, names_.site_of(place));
  check(to, bytes, kWrite | kUncounted, names_.site_of(place));
}

// Nobody acquires what is released here: it makes the thread's clock go on.
void Checker::fence_async_proxy() {
  const std::uint32_t thread = current_thread()->linear;
  proxy_fences_.add(order_.now(thread, 0, kPlainRead));
  order_.release(thread, &proxy_fences_);
}

// Uncounted writes are those of copies, which need no fence.
void Checker::async_read(const void* address, std::size_t bytes, SourcePlace place) {
  const ThreadState& thread = *current_thread();
  const Site site = names_.site_of(place);
  check(address, bytes, kAnyAlignment | kUncounted, site);
  const Target target = memory_.find(address, thread, false);
  if (!jobs_.rules || target.shadow == nullptr || !is_of_block(target.space)) return;
  Access unfenced;
  target.shadow->for_each_cell(target.offset, bytes, [&](const Cell& cell) {
    const bool is_plain = cell.write.interval >= order_.block_first() && !cell.write.is(kUncounted);
    if (is_plain && !proxy_fences_.cover(cell.write, thread.linear)) unfenced = cell.write;
  });
  if (unfenced.interval != 0) {
    reports_.missing_fence(target, address, order_.now(thread.linear, site, kPlainRead), unfenced);
  }
}

// Sums are local variables, which nothing else watches.
void Checker::check_unfinished_sum(const ThreadState& thread, const void* address, std::uint64_t flags, Site site) {
  if (!jobs_.rules || !is_unfinished_sum(thread, address)) return;
  Finding finding{
      FindingKind::kUnfinishedProduct, names_.kernel(), {}, "a sum that a product may still be adding to", 1};
  finding.sides.push_back({(flags & kWrite) != 0 ? "write" : "read", names_.place_of(site), true, thread.thread_idx,
                           current_block()->block_idx});
  FindingLog::instance().add(finding);
}

// False for an address at which nothing may be read.
bool Checker::differs(const void* address, std::size_t bytes, const void* expected, const ThreadState& thread) {
  const Target target = memory_.find(address, thread, false);
  if (target.space == Space::kHost) return false;
  if (target.space != Space::kUnwatched && !memory_.is_allocated(target, address, bytes)) return false;
  return std::memcmp(address, expected, bytes) != 0;
}

void Checker::check_atomic(const void* address, std::size_t bytes, bool releases, std::uint64_t flags, Site site,
                           const void* expected) {
  const ThreadState* const thread = current_thread();
  if (thread == nullptr) return;
  if (expected != nullptr && differs(address, bytes, expected, *thread)) {
    flags &= ~std::uint64_t{kWrite};
    releases = false;
  }
  if (releases) order_.fence(thread->linear, true);
  order_.atomic(thread->linear, address);
  if (order_.has_device_fence(thread->linear)) flags |= kReleased;
  check(address, bytes, flags, site);
}

void Checker::check(const void* address, std::size_t bytes, std::uint64_t flags, Site site) {
  const ThreadState* const thread = current_thread();
  if (thread == nullptr || bytes == 0) return;
  if (skipped_ == thread && is_same(names_.place_of(site), skipped_at_)) [[unlikely]]
    return;
  const Access access = order_.now(thread->linear, site, flags);
  if (!jobs_.metrics && jobs_.rules) {
    Cell* const cell = memory_.usual_cell(address, bytes);
    if (cell != nullptr) {
      const CellRules rules(order_, access, false);
      if (rules.visit_often_read(*cell)) return;
      const Verdict verdict = rules.visit(*cell);
      if (verdict.problem == Problem::kNone) return;
      return reports_.broken_rule(memory_.find(address, *thread, false), address, access, verdict);
    }
  }
  const Target target = memory_.find(address, *thread, (flags & kWrite) != 0);
  if (target.space == Space::kUnwatched) {
    if (thread->has_unfinished_sums) [[unlikely]]
      check_unfinished_sum(*thread, address, flags, site);
    return;
  }
  if (jobs_.metrics && (flags & kUncounted) == 0 && target.shadow != nullptr) {
    counter_.count(*thread, access, address, bytes,
                   target.space == Space::kGlobal || target.space == Space::kDeviceVariable);
  }
  if (!jobs_.rules) return;
  if (const auto problem = address_problem(memory_, target, address, bytes, access)) [[unlikely]] {
    if (!has_overflowed_.empty() && has_overflowed_[thread->linear]) return;
    return reports_.wrong_address(*problem, target, address, bytes, access);
  }
  const CellRules rules(order_, access, is_of_block(target.space));
  Verdict first;
  target.shadow->for_each_cell(target.offset, bytes, [&](Cell& cell) {
    const Verdict verdict = rules.visit(cell);
    if (verdict.problem != Problem::kNone && first.problem == Problem::kNone) [[unlikely]]
      first = verdict;
  });
  if (first.problem != Problem::kNone) [[unlikely]]
    reports_.broken_rule(target, address, access, first);
}

void Checker::compiler_found(FindingKind kind, const char* action, FindingPlace place, const std::string& detail) {
  const ThreadState* const thread = current_thread();
  if (thread == nullptr || !jobs_.rules) return;
  if (kind == FindingKind::kIntegerOverflow) {
    has_overflowed_.resize(current_block()->threads.size());
    has_overflowed_[thread->linear] = true;
  } else {
    skipped_ = thread;
    skipped_at_ = place;
  }
  Finding finding{kind, names_.kernel(), {}, detail, 1};
  finding.sides.push_back({action, std::move(place), true, thread->thread_idx, current_block()->block_idx});
  FindingLog::instance().add(finding);
}

void Checker::finding(const EngineFinding& noticed) {
  if (!jobs_.rules) return;
  Finding finding{kind_of(noticed.kind), names_.kernel(), {}, noticed.message, 1};
  if (finding.kind == FindingKind::kDivergentBarrier) reports_.note_divergent_barrier();
  const BlockState* const block = current_block();
  const uint3 block_idx = block != nullptr ? block->block_idx : uint3{};
  for (const ThreadPlace& thread : noticed.threads) {
    finding.sides.push_back({thread.doing, to_finding_place(thread.place), true, thread.thread_idx, block_idx});
  }
  if (finding.sides.empty()) {
    const ThreadState* const thread = current_thread();
    FindingSide side{"", to_finding_place(noticed.place), thread != nullptr, {}, block_idx};
    if (thread != nullptr) side.thread = thread->thread_idx;
    finding.sides.push_back(side);
  }
  FindingLog::instance().add(finding);
}

}  // namespace lockstep::emulator::checker
