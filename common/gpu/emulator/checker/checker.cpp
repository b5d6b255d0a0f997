#include "emulator/checker/checker.hpp"

#include <string_view>

namespace lockstep::emulator::checker {
namespace {

bool is_power_of_two(std::size_t bytes) { return (bytes & (bytes - 1)) == 0; }

// The hooks for 16 bytes also serve structures of two doubles, which need 8.
bool is_misaligned(const void* address, std::size_t bytes) {
  const std::size_t needed = bytes < 8 ? bytes : 8;
  return is_power_of_two(bytes) && bytes <= 16 && reinterpret_cast<std::uintptr_t>(address) % needed != 0;
}

std::string_view name_of_file(const std::string& path) {
  return std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// A compiler's check and debug information may spell the same path in two ways.
bool is_same(const FindingPlace& one, const FindingPlace& other) {
  return one.line == other.line && name_of_file(one.file) == name_of_file(other.file);
}

}  // namespace

[[gnu::tls_model("initial-exec")]] thread_local Checker* Checker::running = nullptr;

Checker& Checker::instance() {
  static auto* const checker = new Checker;  // NOLINT: never destroyed, for launches of other threads at exit
  return *checker;
}

void Checker::launch_begin(const KernelCall& call, int) {
  mutex_.lock();
  jobs_ = asked_jobs_;
  call_ = &call;
  kernel_name_.clear();
  has_divergent_barrier_ = false;
  order_.launch_begin();
  memory_.refresh_images();
  running = this;
}

void Checker::launch_end() {
  running = nullptr;
  report_suspects(true);
  explained_.clear();
  call_ = nullptr;
  mutex_.unlock();
}

void Checker::block_begin(const BlockState& block) {
  skipped_ = nullptr;
  order_.block_begin(block.linear, static_cast<std::uint32_t>(block.threads.size()));
  memory_.set_dynamic_shared(block.dynamic_shared);
  if (jobs_.metrics) counter_.block_begin(kernel_name(), static_cast<std::uint32_t>(block.threads.size()));
}

void Checker::block_end() {
  if (!held_races_.empty()) report_held_races();
  if (!suspects_.empty()) report_suspects(false);
  if (jobs_.metrics) counter_.block_end();
}

void Checker::thread_begin(const ThreadState&) {}
void Checker::thread_end(const ThreadState&) {}

void Checker::barrier_passed() {
  order_.barrier();
  if (!jobs_.metrics) return;
  const ThreadState* const thread = current_thread();
  counter_.count_barrier(sites_.of(thread != nullptr ? thread->waiting_at : current_block()->threads[0].waiting_at));
}

void Checker::warp_met(std::uint32_t warp, std::uint32_t mask) { order_.warp_met(warp, mask); }
void Checker::fence(bool is_whole_device) { order_.fence(current_thread()->linear, is_whole_device); }

void Checker::atomic(const void* address, std::size_t bytes, SourcePlace place) {
  check_atomic(address, bytes, false, kAtomic | kWrite, sites_.of(place));
}

void Checker::access(const void* address, std::size_t bytes, bool is_write, SourcePlace place) {
  check(address, bytes, is_write ? kWrite : kPlainRead, sites_.of(place));
}

// Nobody may look at `to` until the copy lands, not even the thread that asked for it.
void Checker::copy_async_issued(void* to, const void*, std::size_t bytes, SourcePlace place) {
  check(to, bytes, kWrite | kPending | kUncounted, sites_.of(place));
}

void Checker::copy_async_landed(void* to, const void* from, std::size_t bytes, std::size_t read_bytes,
                                SourcePlace place) {
  if (read_bytes > 0) check(from, read_bytes, kPlainRead, sites_.of(place));
  check(to, bytes, kWrite, sites_.of(place));
}

void Checker::check_atomic(const void* address, std::size_t bytes, bool releases, std::uint64_t flags, Site site) {
  const ThreadState* const thread = current_thread();
  if (thread == nullptr) return;
  if (releases) order_.fence(thread->linear, true);
  order_.atomic(thread->linear, address);
  if (order_.has_device_fence(thread->linear)) flags |= kReleased;
  check(address, bytes, flags, site);
}

void Checker::check(const void* address, std::size_t bytes, std::uint64_t flags, Site site) {
  const ThreadState* const thread = current_thread();
  if (thread == nullptr || bytes == 0) return;
  if (skipped_ == thread && is_same(place_of(site), skipped_at_)) [[unlikely]]
    return;
  const Target target = memory_.find(address, *thread, *current_block(), (flags & kWrite) != 0);
  if (target.space == Space::kUnwatched) return;
  const Access access = order_.now(thread->linear, site, flags);
  if (jobs_.metrics && (flags & kUncounted) == 0 && target.shadow != nullptr) {
    counter_.count(*thread, access, address, bytes,
                   target.space == Space::kGlobal || target.space == Space::kDeviceVariable);
  }
  if (!jobs_.rules || is_wrong_address(target, address, bytes, access)) return;
  const CellRules rules(order_, access, is_of_block(target.space));
  Verdict first;
  target.shadow->for_each_cell(target.offset, bytes, [&](Cell& cell) {
    const Verdict verdict = rules.visit(cell);
    if (verdict.problem != Problem::kNone && first.problem == Problem::kNone) [[unlikely]]
      first = verdict;
  });
  if (first.problem != Problem::kNone) [[unlikely]]
    report_access(target, address, access, first);
}

bool Checker::is_wrong_address(const Target& target, const void* address, std::size_t bytes, const Access& access) {
  if (target.space == Space::kHost) [[unlikely]] {
    const bool is_null = reinterpret_cast<std::uintptr_t>(address) < Sites::kFirstAddress;
    report_target(is_null ? FindingKind::kNullPointer : FindingKind::kHostPointer, address, access, "");
    return true;
  }
  if (!memory_.is_allocated(target, address, bytes)) [[unlikely]] {
    const bool is_freed = target.space == Space::kGlobal && memory_.is_freed(address);
    report_target(is_freed ? FindingKind::kUseAfterFree : FindingKind::kOutOfBounds, address, access,
                  memory_.describe_miss(target.space, address, bytes));
    return true;
  }
  if ((access.is(kAtomic) || !access.is(kAnyAlignment)) && is_misaligned(address, bytes)) [[unlikely]] {
    report_target(FindingKind::kMisaligned, address, access,
                  memory_.describe(target.space, address) + "; " + std::to_string(bytes) + " bytes are accessed");
    return true;
  }
  return false;
}

}  // namespace lockstep::emulator::checker
